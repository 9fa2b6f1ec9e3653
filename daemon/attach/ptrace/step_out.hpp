// SPDX-License-Identifier: Apache-2.0
//
// Lets a stopped thread run until it leaves the functions that are in the way, and stops it there.
//
// Context:  the tracing thread
// Owns:     a breakpoint while it runs
// Promises: no code is changed; other threads never meet the breakpoint
//
// The breakpoint is one of perf's, which ends with us, and it tells the thread by a signal that the
// program does not handle and that does nothing by default: we, its tracer, see it. Were we killed
// meanwhile, nothing happens. Where perf is denied it is a debug register of the thread: a tracer
// killed before it is reached leaves it set, and the thread ends by SIGTRAP.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "daemon/attach/ptrace/phases.hpp"
#include "daemon/attach/ptrace/tracee.hpp"

namespace gpuprof::attach {

/// True: it has been at `address` a moment ago and stands still. False: it does not get there in
/// time; it stands still where it is, or cannot be stopped (Tracee::is_stopped). A breakpoint that
/// would end the process after us is taken back first, for which a minute is waited besides.
bool step_out(Tracee& tracee, std::uint64_t address, std::uint64_t until_ns,
              const std::function<void(Phase)>& passed);

/// A signal that does nothing by default and that a thread neither blocks nor has a handler for; 0
/// if there is none. The masks are those of /proc/PID/task/TID/status, bit 0 is signal 1.
int harmless_signal(std::uint64_t blocked, std::uint64_t caught);

}  // namespace gpuprof::attach
