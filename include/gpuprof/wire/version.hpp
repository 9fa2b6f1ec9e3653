// SPDX-License-Identifier: Apache-2.0
//
// Version of everything in this folder.
//
// Context:  any
// Promises: a major mismatch means "stay quiet"; a higher minor only adds record kinds
#pragma once

#include <cstdint>

namespace gpuprof::wire {

/// Library and daemon ship together: the major must match exactly.
inline constexpr std::uint16_t kWireMajor = 3;
/// A new record kind raises only this; an older daemon skips it by length and counts it.
inline constexpr std::uint16_t kWireMinor = 0;

}  // namespace gpuprof::wire
