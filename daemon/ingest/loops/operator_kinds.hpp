// SPDX-License-Identifier: Apache-2.0
//
// What an operator's name says of the loop it runs in.
//
// Context:  daemon; pure
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string_view>

namespace gpuprof::ingest {

enum class OperatorKind : std::uint8_t {
  kOther,
  kOptimizer,  // Optimizer.step#…
  kLoader,     // the __next__ of a DataLoader
  kBackward,   // a node of autograd
  kSetUp,      // makes or fills tensors: a model is built of such
  kTransfer,   // copies tensors or waits for the device: loading a model and work of one both do
};

OperatorKind operator_kind(std::string_view name);
/// Ranges of torch.optim of any kind, zero_grad among them.
bool is_optimizer_range(std::string_view name);

}  // namespace gpuprof::ingest
