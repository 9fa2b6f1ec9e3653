// SPDX-License-Identifier: Apache-2.0
//
// close_range(2) with CLOSE_RANGE_UNSHARE: a new table without ever copying the program's.
//
// Context:  worker
//
// Why: open() returns the lowest free number, and programs rely on it (close(0); open(...)). A
// second thread that opens anything in between takes that number away.
#include "inject/agent/process/fd_table.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace gpuprof::agent {

namespace {
constexpr unsigned kUnshare = 1u << 1;  // CLOSE_RANGE_UNSHARE, Linux 5.9
}

bool unshare_fd_table() { return ::syscall(SYS_close_range, 0u, ~0u, kUnshare) == 0; }

}  // namespace gpuprof::agent
