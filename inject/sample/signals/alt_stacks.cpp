// SPDX-License-Identifier: Apache-2.0
//
// Which thread has which alternate stack.
//
// Context:  boundary | signal | worker
// Owns:     one mapping
#include "inject/sample/signals/alt_stacks.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "inject/hot/thread_block.hpp"

namespace gpuprof::sample {

namespace {

constexpr std::uint32_t kFree = 0, kReserved = ~0u;

struct AltStack {
  std::atomic<std::uint32_t> owner{kFree};  // thread id
  ThreadStart start;
};

constinit AltStack g_table[kMaxAltStacks];
constinit std::atomic<char*> g_memory{nullptr};
constinit std::atomic<bool> g_wanted{false}, g_required{false};
// Who looks for a free one begins here.
constinit std::atomic<std::uint32_t> g_next{0};

constexpr std::size_t kAllBytes = kAltStackBytes * kMaxAltStacks;

bool map_memory() {
  if (g_memory.load(std::memory_order_acquire) != nullptr) return true;
  const long memory = ::syscall(SYS_mmap, nullptr, kAllBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == -1) return false;
  char* before = nullptr;
  // release: the stacks are there for whoever sees the address
  if (!g_memory.compare_exchange_strong(before, reinterpret_cast<char*>(memory),
                                        std::memory_order_acq_rel))
    ::syscall(SYS_munmap, memory, kAllBytes);
  return true;
}

char* low_end(const AltStack& stack) {
  return g_memory.load(std::memory_order_acquire) + (&stack - g_table) * kAltStackBytes;
}

AltStack* take_free() {
  if (!alt_stacks_enabled() || !map_memory()) return nullptr;
  const std::uint32_t first = g_next.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kMaxAltStacks; ++i) {
    AltStack& stack = g_table[(first + i) % kMaxAltStacks];
    std::uint32_t free = kFree;
    // acquire: pairs with the release of whoever gave it back
    if (!stack.owner.compare_exchange_strong(free, kReserved, std::memory_order_acquire)) continue;
    g_next.store(first + i + 1, std::memory_order_relaxed);
    return &stack;
  }
  return nullptr;
}

bool has_none() {
  stack_t now{};
  return ::syscall(SYS_sigaltstack, nullptr, &now) == 0 && (now.ss_flags & SS_DISABLE) != 0;
}

void set_for_this_thread(AltStack& stack) {
  stack_t ours{};
  ours.ss_sp = low_end(stack);
  ours.ss_size = kAltStackBytes;
  const bool set = ::syscall(SYS_sigaltstack, &ours, nullptr) == 0;
  const auto tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  stack.owner.store(set ? tid : kFree, std::memory_order_release);
}

}  // namespace

bool enable_alt_stacks(bool fragile) {
  const bool more = fragile && !g_required.exchange(true, std::memory_order_acq_rel);
  return !g_wanted.exchange(true, std::memory_order_acq_rel) || more;
}

bool alt_stacks_enabled() { return g_wanted.load(std::memory_order_acquire); }

bool alt_stacks_required() { return g_required.load(std::memory_order_acquire); }

bool has_alt_stack(std::uint32_t tid) {
  return std::any_of(std::begin(g_table), std::end(g_table), [&](const AltStack& stack) {
    return stack.owner.load(std::memory_order_acquire) == tid;
  });
}

bool may_signal_this_thread() {
  return !alt_stacks_required() || has_alt_stack(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
}

void reclaim_alt_stacks() {
  for (AltStack& stack : g_table) {
    const std::uint32_t tid = stack.owner.load(std::memory_order_acquire);
    if (tid != kFree && tid != kReserved && hot::thread_exited(tid))
      stack.owner.store(kFree, std::memory_order_release);
  }
}

void* reserve_alt_stack(const ThreadStart& start) {
  const int saved = errno;
  AltStack* stack = take_free();
  if (stack != nullptr) stack->start = start;
  errno = saved;
  return stack;
}

void cancel_alt_stack(void* reserved) {
  static_cast<AltStack*>(reserved)->owner.store(kFree, std::memory_order_release);
}

ThreadStart activate_alt_stack(void* reserved) {
  AltStack& stack = *static_cast<AltStack*>(reserved);
  const ThreadStart start = stack.start;
  const int saved = errno;
  set_for_this_thread(stack);  // a new thread has none
  errno = saved;
  return start;
}

void ensure_alt_stack() {
  const int saved = errno;
  if (alt_stacks_enabled() && has_none()) {
    AltStack* stack = take_free();
    if (stack != nullptr) set_for_this_thread(*stack);
  }
  errno = saved;
}

void reset_alt_stacks_after_fork() {
  stack_t now{};
  const bool any = ::syscall(SYS_sigaltstack, nullptr, &now) == 0 &&
                   (now.ss_flags & SS_DISABLE) == 0 && is_on_own_alt_stack(now.ss_sp);
  for (AltStack& stack : g_table) {
    if (stack.owner.load(std::memory_order_relaxed) == kFree) continue;
    const bool mine = any && now.ss_sp == low_end(stack);
    stack.owner.store(mine ? static_cast<std::uint32_t>(::syscall(SYS_gettid)) : kFree,
                      std::memory_order_release);
  }
}

bool is_on_own_alt_stack(const void* address) {
  const auto low = reinterpret_cast<std::uintptr_t>(g_memory.load(std::memory_order_acquire));
  return low != 0 && reinterpret_cast<std::uintptr_t>(address) - low < kAllBytes;
}

}  // namespace gpuprof::sample
