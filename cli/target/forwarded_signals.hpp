// SPDX-License-Identifier: Apache-2.0
//
// Which signals are the program's business when they come to us, and whom the kernel means by one.
//
// Context:  cli
// Owns:     nothing
// Not here: who sent one to the group and who to us alone (process_group_monitor.hpp)
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

namespace gpuprof::cli {

/// Every signal that can be caught but those that say something of ourselves: CHLD, CONT, TTIN,
/// TTOU, WINCH, and what our own writes raise (support/process/write_error_signals.hpp). Blocked, a
/// fault of our own still ends us: the kernel does not wait for a thread that cannot go on.
sigset_t forwarded_signals();

/// The kernel's word on what we ourselves did: a fault, or too much of our own CPU time.
bool is_own_fault(const signalfd_siginfo& info);

/// True if the kernel sends this one to all of a group: keys of the terminal, and the hang-up that
/// follows the end of a session's leader.
bool is_kernel_group_signal(const signalfd_siginfo& info);

/// The terminal is gone, and as the session's leader we alone are told.
bool is_session_leader_hangup(const signalfd_siginfo& info);

}  // namespace gpuprof::cli
