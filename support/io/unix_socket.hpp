// SPDX-License-Identifier: Apache-2.0
//
// Connecting to a socket of ours by its name.
//
// Context:  daemon | cli
// Owns:     nothing
#pragma once

#include <string>

#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::support {

/// A SOCK_SEQPACKET connection to a path, or to `@NAME` (abstract). None: errno says why;
/// ENAMETOOLONG stands for a name of less than 2 or more than 107 characters, too.
/// @param type_flags  SOCK_NONBLOCK or 0.
base::UniqueFd connect_unix_socket(const std::string& address, int type_flags);

}  // namespace gpuprof::support
