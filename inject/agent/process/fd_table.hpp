// SPDX-License-Identifier: Apache-2.0
//
// A table of descriptors for the worker alone.
//
// Context:  worker
// Owns:     the table, until the kernel thread ends
// Promises: nothing the worker opens takes a number the program would get, and nothing the
//           program closes is ours; no descriptor of the program is held
#pragma once

namespace gpuprof::agent {

/// Gives the calling thread an empty table of descriptors. False: not allowed here, the table
/// stays shared.
bool unshare_fd_table();

}  // namespace gpuprof::agent
