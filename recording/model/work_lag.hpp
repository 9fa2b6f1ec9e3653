// SPDX-License-Identifier: Apache-2.0
//
// How long after a window GPU work that was launched in it may begin.
//
// Context:  daemon | cli
#pragma once

#include <cstdint>

namespace gpuprof::model {

/// So long after its window a GPU event that was launched in it may begin and still be looked for.
inline constexpr std::uint64_t kMaxWorkLagNs = 5'000'000'000;

}  // namespace gpuprof::model
