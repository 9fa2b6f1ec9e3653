// SPDX-License-Identifier: Apache-2.0
//
// One request at a control socket.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>

namespace gpuprof::control {

/// The process that listens at a socket (a path, or `@NAME`), as we see it; 0: none, `failure` says
/// why. EAGAIN: so many wait there that for `wait_ms` nobody else could.
std::uint32_t listener_of(const std::string& path, int* failure, int wait_ms = 0);

}  // namespace gpuprof::control
