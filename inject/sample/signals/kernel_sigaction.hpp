// SPDX-License-Identifier: Apache-2.0
//
// Signal dispositions as the kernel keeps them, by system calls alone.
//
// Context:  signal | callback | worker
// Promises: what was read can be put back bit for bit (glibc's sigaction would replace the
//           restorer); errno is ignored
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
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
  bool is_ignored() const { return reinterpret_cast<std::uintptr_t>(handler) == 1; }
  bool is_function() const {
    // SIG_DFL and SIG_IGN are 0 and 1.
    return reinterpret_cast<std::uintptr_t>(handler) > 1;
  }
};

/// Returns false on an invalid signal. Either pointer may be null.
inline bool kernel_sigaction(int signal, const KernelAction* set, KernelAction* old) {
  return ::syscall(SYS_rt_sigaction, signal, set, old, 8) == 0;
}

/// First thing in a handler: the kernel leaves the alignment check as the program has it, and the
/// code of compilers and of the C library does not comply with it. The return restores it.
inline void clear_alignment_check() {
#if defined(__x86_64__)
  constexpr unsigned long long kAlignmentCheck = 1ULL << 18;
  const unsigned long long flags = __builtin_ia32_readeflags_u64();
  if ((flags & kAlignmentCheck) != 0) [[unlikely]]
    __builtin_ia32_writeeflags_u64(flags & ~kAlignmentCheck);
#endif
}

/// 0 for no signal.
constexpr std::uint64_t signal_bit(int signal) {
  return signal > 0 ? std::uint64_t{1} << (signal - 1) : 0;
}
inline constexpr std::uint64_t kFaultSignals = signal_bit(SIGSEGV) | signal_bit(SIGBUS);

/// Which signals this thread blocks.
inline std::uint64_t blocked_signals() {
  std::uint64_t blocked = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, static_cast<void*>(nullptr), &blocked, 8);
  return blocked;
}
/// Which of the signals that this thread blocks are pending, sent to it or to the process.
inline std::uint64_t pending_signals() {
  std::uint64_t pending = 0;
  ::syscall(SYS_rt_sigpending, &pending, 8);
  return pending;
}
/// @param how  SIG_BLOCK or SIG_UNBLOCK.
inline void change_mask(int how, std::uint64_t signals) {
  ::syscall(SYS_rt_sigprocmask, how, &signals, static_cast<void*>(nullptr), 8);
}

/// The mask that returning from a handler restores.
inline std::uint64_t mask_of(const ucontext_t* context) {
  std::uint64_t mask;
  __builtin_memcpy(&mask, &context->uc_sigmask, sizeof mask);
  return mask;
}

/// Whether this lies on the thread's alternate stack, whoever chose it.
inline bool on_alternate_stack(const ucontext_t* context, std::uintptr_t address) {
  const auto low = reinterpret_cast<std::uintptr_t>(context->uc_stack.ss_sp);
  return (context->uc_stack.ss_flags & SS_DISABLE) == 0 &&
         address - low < context->uc_stack.ss_size;
}

/// Sends `info` to the calling thread exactly as it is. False: the queue is full.
inline bool send_to_self(int signal, const siginfo_t* info) {
  return ::syscall(SYS_rt_tgsigqueueinfo, ::syscall(SYS_getpid), ::syscall(SYS_gettid), signal,
                   info) == 0;
}
/// The same to the process. With the thread's own id the kernel accepts any code from us, and sends
/// it to the whole process all the same; with the process's id only where that is the same.
inline void send_to_process(int signal, const siginfo_t* info) {
  ::syscall(SYS_rt_sigqueueinfo, ::syscall(SYS_gettid), signal, info);
}
/// Whether it was sent to a thread. For those with a value (pthread_sigqueue, timers of a thread)
/// this cannot be known.
inline bool is_for_thread(const siginfo_t* info) { return info->si_code == SI_TKILL; }

}  // namespace gpuprof::sample
