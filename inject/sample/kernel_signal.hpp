// SPDX-License-Identifier: Apache-2.0
//
// Signal dispositions as the kernel keeps them, by system calls alone.
//
// Context:  signal | callback | worker
// Owns:     nothing
// Promises: what was read can be put back bit for bit (glibc's sigaction would replace the
//           restorer); errno is not looked at
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace gpuprof::sample {

/// struct kernel_sigaction, the same on x86-64 and aarch64.
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  std::uint64_t flags;
  void (*restorer)();
  std::uint64_t mask;

  bool operator==(const KernelAction&) const = default;
  bool is_function() const {
    // SIG_DFL and SIG_IGN are 0 and 1.
    return reinterpret_cast<std::uintptr_t>(handler) > 1;
  }
};

/// Returns false on an invalid signal. Either pointer may be null.
inline bool kernel_action(int signal, const KernelAction* set, KernelAction* old) {
  return ::syscall(SYS_rt_sigaction, signal, set, old, 8) == 0;
}

constexpr std::uint64_t signal_bit(int signal) { return std::uint64_t{1} << (signal - 1); }
inline constexpr std::uint64_t kFaultSignals = signal_bit(SIGSEGV) | signal_bit(SIGBUS);

/// Lets the two fault signals through on this thread; returns which of them were blocked.
inline std::uint64_t open_fault_signals() {
  std::uint64_t open = kFaultSignals, before = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &open, &before, 8);
  return before & kFaultSignals;
}
inline void close_fault_signals(std::uint64_t were_blocked) {
  if (were_blocked != 0)
    ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &were_blocked, static_cast<void*>(nullptr), 8);
}

/// Sends `info` to the calling thread exactly as it is.
inline void send_to_self(int signal, const siginfo_t* info) {
  ::syscall(SYS_rt_tgsigqueueinfo, ::syscall(SYS_getpid), ::syscall(SYS_gettid), signal, info);
}

}  // namespace gpuprof::sample
