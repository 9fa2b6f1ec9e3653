// SPDX-License-Identifier: Apache-2.0
//
// Why a process that was recorded goes on without the library: an exec took it away.
//
// Context:  daemon | cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>

namespace gpuprof::support {

/// What the process runs now and why the library is not in it, as one sentence; "" if it runs the
/// image that was recorded, or cannot be seen (another user's). In the moment of the exec itself
/// every environment looks cleared: ask a little later.
std::string library_lost_reason(std::uint32_t pid, const std::string& recorded_exe);

/// The same from what was read: its program now, why that cannot be preloaded ("" if it can), and
/// its environment with NULs between the words.
std::string library_lost_message(const std::string& recorded_exe, const std::string& exe,
                                 const std::string& not_preloadable,
                                 const std::string& environment);

}  // namespace gpuprof::support
