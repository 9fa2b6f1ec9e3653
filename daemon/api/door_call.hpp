// SPDX-License-Identifier: Apache-2.0
//
// One request at a door.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>

namespace gpuprof::api {

/// Nobody listens there: its file is left, or has been removed by whoever found nobody behind it.
bool is_closed(int failure);

/// Why connecting to a door failed, and, where nobody listens, what that may mean: "(…): …".
std::string why_closed(int failure);

/// The process that listens at a socket (a path, or `@NAME`), as we see it; 0: none, `failure` says
/// why. EAGAIN: so many wait there that for `wait_ms` nobody else could.
std::uint32_t listener_of(const std::string& path, int* failure, int wait_ms = 0);

}  // namespace gpuprof::api
