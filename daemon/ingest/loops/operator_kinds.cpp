// SPDX-License-Identifier: Apache-2.0
//
// Names as PyTorch writes them.
//
// Context:  daemon; pure
// Owns:     nothing
#include "daemon/ingest/loops/operator_kinds.hpp"

#include <string>

namespace gpuprof::ingest {
namespace {

constexpr std::string_view kOptimizerPrefix = "Optimizer.";
constexpr std::string_view kStepPrefix = "Optimizer.step#";
constexpr std::string_view kLoaderPrefix = "enumerate(DataLoader)";
constexpr std::string_view kBackwardPrefix = "autograd::engine::";
constexpr std::string_view kAtenPrefix = "aten::";

constexpr std::string_view kSetUp =
    " add_ alias arange as_strided bernoulli_ clamp clamp_ clone contiguous detach detach_ div_ "
    "empty empty_like empty_permuted empty_strided erfinv_ expand eye fill_ full full_like lift "
    "lift_fresh linspace mul_ narrow new_empty new_full new_ones new_zeros normal_ ones ones_like "
    "permute rand rand_like randint randn randn_like random_ randperm reshape resize_ result_type "
    "select set_ slice split squeeze t transpose unbind uniform_ unsqueeze view view_as zero_ "
    "zeros zeros_like ";
constexpr std::string_view kTransfer =
    " _local_scalar_dense _to_copy copy_ is_nonzero item pin_memory to ";

bool starts_with(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

bool lists(std::string_view names, std::string_view one) {
  const std::string padded = " " + std::string(one) + " ";
  return names.find(padded) != std::string_view::npos;
}

}  // namespace

OperatorKind operator_kind(std::string_view name) {
  if (starts_with(name, kLoaderPrefix)) return OperatorKind::kLoader;
  if (starts_with(name, kStepPrefix)) return OperatorKind::kOptimizer;
  if (starts_with(name, kBackwardPrefix)) return OperatorKind::kBackward;
  if (!starts_with(name, kAtenPrefix)) return OperatorKind::kOther;
  const std::string_view op = name.substr(kAtenPrefix.size());
  if (lists(kSetUp, op)) return OperatorKind::kSetUp;
  return lists(kTransfer, op) ? OperatorKind::kTransfer : OperatorKind::kOther;
}

bool is_optimizer_range(std::string_view name) { return starts_with(name, kOptimizerPrefix); }

}  // namespace gpuprof::ingest
