// SPDX-License-Identifier: Apache-2.0
//
// shortfalls().
//
// Context:  daemon (export thread) | cli
#include "daemon/export/shortfalls.hpp"

#include <fmt/format.h>

#include "daemon/model/loss.hpp"

namespace gpuprof::exporter {
namespace {

/// Levels of model::Notice.
constexpr std::uint32_t kMissing = 1;

std::uint64_t gpu_events(const Survey& s) {
  return s.count(Counted::kKernel) + s.count(Counted::kMemCopy) + s.count(Counted::kMemSet) +
         s.count(Counted::kGraph);
}

void lanes(const Survey& s, std::vector<std::string>& out) {
  if (gpu_events(s) == 0)
    out.push_back(s.count(Counted::kCall) == 0
                      ? "no GPU rows: no CUDA call and no GPU activity was seen in this window"
                      : "no GPU rows: CUDA calls were seen, but no GPU activity in this window");
  if (s.count(Counted::kRange) == 0)
    out.push_back("no operators: the process pushed no NVTX range in this window");
  if (s.steps.empty())
    out.push_back("no steps: none was seen whole in this window; the overview takes it as one");
  if (s.count(Counted::kSample) == 0)
    out.push_back("no sampled stacks: no thread was sampled in this window");
}

}  // namespace

std::vector<std::string> shortfalls(const Survey& s) {
  std::vector<std::string> out;
  for (const auto& notice : s.notices)
    if (notice.level >= kMissing) out.push_back(notice.text);
  for (const auto& [reason, loss] : s.losses)
    if (loss.in_window != 0)
      out.push_back(fmt::format("{} {} missing: {}", loss.in_window,
                                loss.in_window == 1 ? "record is" : "records are",
                                name_of(static_cast<model::LossReason>(reason))));
  if (!s.replay_complete)
    out.push_back("the spool ends inside a block: what came after it was lost with the daemon");
  lanes(s, out);
  for (std::size_t i = 0; i < s.shortfalls.size(); ++i)
    if (s.shortfalls[i] != 0)
      out.push_back(fmt::format("{} {}", s.shortfalls[i], name_of(static_cast<Shortfall>(i))));
  return out;
}

}  // namespace gpuprof::exporter
