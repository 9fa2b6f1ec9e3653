// SPDX-License-Identifier: Apache-2.0
//
// What --max-overhead takes.
//
// Context:  cli | daemon
// Owns:     nothing
// Not here: what follows when it is reached (daemon/session/target/governor.hpp)
#pragma once

#include <cstdint>
#include <string>

#include "support/result.hpp"

namespace gpuprof::recording {

/// `3%`, `3`, `0.5` or `off`, as parts of a million; 0: off.
///
/// Errors: anything else, less than 0.1 or more than 50 percent.
support::Result<std::uint64_t> parse_max_overhead(const std::string& text);

}  // namespace gpuprof::recording
