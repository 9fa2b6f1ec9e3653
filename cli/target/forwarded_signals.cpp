// SPDX-License-Identifier: Apache-2.0
//
// Which signals are the program's business when they come to us, and whom the kernel means by one.
//
// Context:  cli
#include "cli/target/forwarded_signals.hpp"

#include <unistd.h>

namespace gpuprof::cli {
namespace {

bool is_leader() { return getsid(0) == getpid(); }

bool from_kernel(const signalfd_siginfo& info) { return info.ssi_code == SI_KERNEL; }

}  // namespace

sigset_t forwarded_signals() {
  sigset_t set;
  sigfillset(&set);
  for (const int signal :
       {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTTIN, SIGTTOU, SIGWINCH, SIGPIPE, SIGXFSZ}) {
    sigdelset(&set, signal);
  }
  return set;
}

bool is_own_fault(const signalfd_siginfo& info) {
  switch (info.ssi_signo) {
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGSYS:
    case SIGXCPU:
      return info.ssi_code > 0;
    default:
      return false;
  }
}

bool is_kernel_group_signal(const signalfd_siginfo& info) {
  if (!from_kernel(info)) return false;
  switch (info.ssi_signo) {
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP:
      return true;
    case SIGHUP:
      return !is_leader();
    default:
      return false;
  }
}

bool is_session_leader_hangup(const signalfd_siginfo& info) {
  return info.ssi_signo == SIGHUP && from_kernel(info) && is_leader();
}

}  // namespace gpuprof::cli
