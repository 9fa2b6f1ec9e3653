// SPDX-License-Identifier: Apache-2.0
//
// Scans the task directory and keeps triggers where they belong.
//
// Context:  worker
// Owns:     the list: one mapping, pages touched as threads appear
#include "inject/sample/threads/threads.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/proc_files.hpp"
#include "inject/sample/restrictions.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/sample/signals/alt_stacks.hpp"
#include "inject/sample/signals/handler.hpp"
#include "inject/sample/signals/handler_masks.hpp"
#include "inject/sample/signals/handler_state.hpp"
#include "inject/sample/signals/interrupted_syscalls.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"
#include "inject/sample/signals/mask_check.hpp"
#include "inject/sample/signals/signal_conflicts.hpp"
#include "inject/sample/threads/thread_status.hpp"

namespace gpuprof::sample {

namespace {

// A thread that will block signals mostly does so at once; after that a look now and then will do.
constexpr std::uint32_t kEarlyChecks = 3;
// Only one that has run can have changed.
constexpr std::uint64_t kCheckPeriodNs = 200'000'000, kIdlePeriodNs = 1'000'000'000;
constexpr std::uint64_t kHasRunNs = 1'000'000;
// Longer than libc takes to make a thread, and our handler to begin.
constexpr std::uint64_t kHasGoneOnNs = 5'000'000;
// A thread may get a stack when it makes another one: what is loaded makes its threads soon.
constexpr std::uint64_t kStackWaitNs = 300'000'000;

struct KeptDirectory {
  int fd = -1;
  dev_t device = 0;
  ino_t inode = 0;
};

struct Threads {
  ThreadEntry* entries = nullptr;
  std::uint32_t count = 0, scan = 0;
  const TriggerKind* kind = nullptr;
  TriggerPlan plan;
  KeptDirectory directory;
  std::uint32_t opened = 0;  // triggers that hold a descriptor
  bool flush_wanted = false, traced = false;
  bool some_were_filtered = false;  // of the list before this one
};
constinit Threads g_threads;

bool is_same(const KeptDirectory& kept) {
  struct stat now;
  return kept.fd >= 0 && fstat(kept.fd, &now) == 0 && now.st_dev == kept.device &&
         now.st_ino == kept.inode;
}

void close_directory() {
  if (is_same(g_threads.directory)) ::close(g_threads.directory.fd);
  g_threads.directory.fd = -1;
}

// Kept open, so that no low descriptor number is taken forty times a second.
int task_directory() {
  KeptDirectory& kept = g_threads.directory;
  if (is_same(kept)) return kept.fd;
  const int fd = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat now;
  if (fd >= 0 && fstat(fd, &now) == 0) {
    kept.device = now.st_dev;
    kept.inode = now.st_ino;
  }
  return kept.fd = move_fd_high(fd);
}

bool is_alive(pid_t tid) { return !hot::thread_exited(static_cast<std::uint32_t>(tid)); }

ThreadEntry* find(pid_t tid) {
  ThreadEntry* const end = g_threads.entries + g_threads.count;
  // Sorted: the directory lists threads in order of their age, ids wrap once in a while.
  ThreadEntry* at =
      std::lower_bound(g_threads.entries, end, tid,
                       [](const ThreadEntry& entry, pid_t id) { return entry.tid < id; });
  return at != end && at->tid == tid ? at : nullptr;
}

ThreadEntry* add(pid_t tid) {
  if (g_threads.count == kMaxThreads) return nullptr;
  std::uint32_t at = g_threads.count++;
  for (; at > 0 && g_threads.entries[at - 1].tid > tid; --at)
    g_threads.entries[at] = g_threads.entries[at - 1];
  g_threads.entries[at] = ThreadEntry{};
  g_threads.entries[at].tid = tid;
  if (g_interrupted_waits.has(static_cast<std::uint32_t>(tid))) g_threads.entries[at].mask.forbid();
  return &g_threads.entries[at];
}

void send_thread(ThreadEntry& entry, std::uint32_t flags, std::uint64_t now_ns) {
  if (hot::g_outbox.thread == nullptr) return;
  if (entry.reported_flags == flags && strcmp(entry.reported_name, entry.name) == 0) return;
  entry.reported_flags = flags;
  memcpy(entry.reported_name, entry.name, sizeof entry.name);
  wire::Thread message{};
  message.tid = static_cast<std::uint32_t>(entry.tid);
  message.flags = flags;
  message.ts_ns = now_ns;
  message.name_bytes = static_cast<std::uint32_t>(strlen(entry.name));
  message.trigger = static_cast<std::uint32_t>(entry.has_trigger ? g_threads.kind->kind
                                                                 : wire::SamplerKind::kOff);
  hot::g_outbox.thread(message, entry.name);
}

void drop_trigger(ThreadEntry& entry) {
  if (!entry.has_trigger) return;
  if (entry.slot.fd >= 0) --g_threads.opened;
  g_threads.kind->close(&entry.slot);
  entry.has_trigger = false;
}

void count_without(ThreadEntry& entry) {
  if (entry.counted_none) return;
  entry.counted_none = true;
  hot::count(wire::Counter::kThreadsNoTrigger);
}

// No signal may reach some programs' threads on the stack they run on.
bool may_be_sent_signals(const ThreadEntry& entry) {
  return !alt_stacks_required() || has_alt_stack(static_cast<std::uint32_t>(entry.tid));
}

void open_thread_trigger(ThreadEntry& entry) {
  if (entry.has_trigger || g_threads.kind == nullptr) return;
  if (!may_be_sent_signals(entry) || entry.filtered || entry.traced || g_threads.traced) return;
  if (g_threads.opened < descriptor_budget() || g_threads.kind->kind != wire::SamplerKind::kPerf) {
    entry.slot = TriggerSlot{};
    entry.has_trigger = g_threads.kind->open(g_threads.plan, entry.tid, &entry.slot);
    if (entry.has_trigger && entry.slot.fd >= 0) ++g_threads.opened;
    if (!entry.has_trigger) g_threads.kind->close(&entry.slot);
  }
  if (!entry.has_trigger && is_alive(entry.tid)) count_without(entry);
}

// One that lacked a stack may still have got one.
void end_of(ThreadEntry& entry) {
  drop_trigger(entry);
  if (entry.needs_alt_stack) count_without(entry);
}

void count_masked(ThreadEntry& entry) {
  if (!entry.counted_masked) hot::count(wire::Counter::kThreadsBlockingSignal);
  entry.counted_masked = true;
}

void check_alt_stack(ThreadEntry& entry, std::uint64_t now_ns) {
  entry.needs_alt_stack = !may_be_sent_signals(entry);
  if (!entry.needs_alt_stack) entry.lacks_stack_ns = 0;
  if (!entry.needs_alt_stack) return;
  if (entry.lacks_stack_ns == 0) entry.lacks_stack_ns = now_ns;
  if (now_ns - entry.lacks_stack_ns < kStackWaitNs) return;
  count_without(entry);
}

// Pending signals go, too: the thread may wait for all signals next, and a tracer would get them.
void remove_trigger(ThreadEntry& entry) {
  if (entry.has_trigger) g_threads.flush_wanted = true;
  drop_trigger(entry);
}

// By its mask, in which others have all signals or none of ours.
bool names_ours(const ThreadStatus& status) {
  const int ours = g_threads.plan.signal;
  if (g_threads.kind == nullptr || any_handler_masked()) return false;
  return (status.blocked & signal_bit(ours)) != 0 &&
         (status.blocked & signal_bit(neighbour_signal(ours))) == 0;
}

void classify_thread(ThreadEntry& entry, const ThreadStatus& status) {
  const std::uint64_t ran_ns = base::clock_ns(cpu_clock_of(entry.tid)) - entry.checked_cpu_ns;
  MaskCheck look = check_mask(entry.tid, status, g_threads.plan.signal);
  const std::uint32_t runs = g_handler_runs.of(entry.tid);
  const bool was_handled = std::exchange(entry.handler_runs, runs) != runs;
  look = discount_handler(look, was_handled, status.runnable, ran_ns >= kHasRunNs);
  entry.mask.add(look, ran_ns >= kHasGoneOnNs);
  if (look != MaskCheck::kUnknown && names_ours(status)) add_awaited_signal(g_threads.plan.signal);
  entry.traced = status.tracer != 0;
  entry.filtered = has_new_filter(status);
  const bool had_trigger = entry.has_trigger;
  if (had_trigger && !g_threads.kind->intact(entry.slot)) drop_trigger(entry);
  if (entry.mask.is_blocking() || entry.traced || entry.filtered) remove_trigger(entry);
  if (entry.mask.is_blocking()) {
    count_masked(entry);
    // Ours went when it lost its trigger.
    if (g_threads.kind != nullptr && !had_trigger &&
        (status.pending & signal_bit(g_threads.plan.signal)) != 0)
      add_awaited_signal(g_threads.plan.signal);
  } else if (entry.mask.is_unblocked()) {
    open_thread_trigger(entry);
  }
}

void plan_next_check(ThreadEntry& entry, std::uint64_t now_ns) {
  const bool unsure = entry.checks < kEarlyChecks || entry.mask.needs_recheck() ||
                      (entry.needs_alt_stack && !entry.counted_none);
  entry.next_check_ns = unsure ? now_ns : now_ns + kCheckPeriodNs;
  entry.overdue_ns = unsure ? now_ns : now_ns + kIdlePeriodNs;
  entry.checked_cpu_ns = base::clock_ns(cpu_clock_of(entry.tid));
}

bool is_due(ThreadEntry& entry, std::uint64_t now_ns) {
  if (now_ns < entry.next_check_ns) return false;
  if (now_ns >= entry.overdue_ns) return true;
  entry.next_check_ns = now_ns + kCheckPeriodNs;
  return base::clock_ns(cpu_clock_of(entry.tid)) - entry.checked_cpu_ns >= kHasRunNs;
}

void report_trigger(ThreadEntry& entry, std::uint64_t now_ns) {
  std::uint32_t flags = entry.mask.is_blocking() ? wire::kThreadBlocksSignal : 0;
  if (!entry.has_trigger && entry.mask.is_unblocked() && g_threads.kind != nullptr)
    flags |= wire::kThreadNoTrigger;
  send_thread(entry, flags, now_ns);
}

void check(ThreadEntry& entry, std::uint64_t now_ns) {
  ThreadStatus status;
  if (!read_thread_status(entry.tid, &status)) return;
  memcpy(entry.name, status.name, sizeof entry.name);
  classify_thread(entry, status);
  entry.checks = std::min(entry.checks + 1, kEarlyChecks);
  check_alt_stack(entry, now_ns);
  plan_next_check(entry, now_ns);
  report_trigger(entry, now_ns);
}

// A tracer attaches between two scans, and detaches between two.
void follow_tracer(std::uint64_t now_ns) {
  const bool traced = is_traced();
  if (traced == g_threads.traced) return;
  g_threads.traced = traced;
  for (std::uint32_t i = 0; i < g_threads.count; ++i) {
    if (traced) remove_trigger(g_threads.entries[i]);
    g_threads.entries[i].next_check_ns = g_threads.entries[i].overdue_ns = now_ns;
  }
}

void flush_if_wanted() {
  // What waits for the process was sent by the program.
  if (g_threads.flush_wanted && !discard_pending_signals())
    add_awaited_signal(g_threads.plan.signal);
  g_threads.flush_wanted = false;
}

void update_thread(pid_t tid, std::uint64_t now_ns) {
  // Before its id is compared; the next scan sees who it was.
  const bool may_be_ours = hot::g_state.flush_thread_starting.load(std::memory_order_acquire);
  if (hot::is_our_thread(static_cast<std::uint32_t>(tid))) return;
  ThreadEntry* entry = find(tid);
  if (entry == nullptr && !may_be_ours) entry = add(tid);
  if (entry == nullptr) return;
  entry->scan = g_threads.scan;
  const bool got_stack = entry->needs_alt_stack && may_be_sent_signals(*entry);
  if (got_stack || is_due(*entry, now_ns)) check(*entry, now_ns);
}

// False: the directory could not be read; nobody is declared dead then.
bool read_directory(std::uint64_t now_ns) {
  const int fd = task_directory();
  if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0) return false;
  alignas(8) char buffer[8192];
  for (;;) {
    const long bytes = ::syscall(SYS_getdents64, fd, buffer, sizeof buffer);
    if (bytes < 0) return false;
    if (bytes == 0) return true;
    for (long at = 0; at < bytes;) {
      const auto* item = reinterpret_cast<const dirent64*>(buffer + at);
      std::uint64_t tid = 0;
      parse_decimal(item->d_name, &tid);
      if (tid != 0) update_thread(static_cast<pid_t>(tid), now_ns);
      at += item->d_reclen;
    }
  }
}

void remove_dead(std::uint64_t now_ns) {
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < g_threads.count; ++i) {
    ThreadEntry& entry = g_threads.entries[i];
    // A directory that changes while it is read may skip a thread.
    if (entry.scan == g_threads.scan || is_alive(entry.tid)) {
      if (kept != i) g_threads.entries[kept] = entry;
      ++kept;
      continue;
    }
    end_of(entry);
    g_interrupted_waits.remove(static_cast<std::uint32_t>(entry.tid));
    send_thread(entry, wire::kThreadExited, now_ns);
  }
  g_threads.count = kept;
}

bool is_gone(std::uint32_t tid, void*) {
  const auto id = static_cast<pid_t>(tid);
  return find(id) == nullptr && !is_alive(id);
}

}  // namespace

bool open_threads(const TriggerKind* kind, const TriggerPlan& plan) {
  close_threads();
  if (g_threads.entries == nullptr) {
    void* memory = mmap(nullptr, sizeof(ThreadEntry) * kMaxThreads, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    g_threads.entries = static_cast<ThreadEntry*>(memory);
  }
  g_threads.kind = kind;
  g_threads.plan = plan;
  return true;
}

void close_threads() {
  if (g_threads.count != 0) g_threads.some_were_filtered = any_filtered();
  for (std::uint32_t i = 0; i < g_threads.count; ++i) end_of(g_threads.entries[i]);
  g_threads.count = 0;
  g_threads.kind = nullptr;
  close_directory();
}

void release_threads() {
  close_threads();
  if (g_threads.entries != nullptr) munmap(g_threads.entries, sizeof(ThreadEntry) * kMaxThreads);
  g_threads.entries = nullptr;
}

void scan_threads(std::uint64_t now_ns) {
  if (g_threads.entries == nullptr) return;
  ++g_threads.scan;
  follow_tracer(now_ns);
  if (g_threads.traced) flush_if_wanted();
  if (!read_directory(now_ns)) return;
  remove_dead(now_ns);
  flush_if_wanted();
  hot::retire_threads(is_gone, nullptr);
}

void handle_interrupted_waits(std::uint64_t now_ns) {
  if (!g_interrupted_waits.take_changed()) return;
  for (std::uint32_t i = 0; i < g_threads.count; ++i) {
    ThreadEntry& entry = g_threads.entries[i];
    if (!g_interrupted_waits.has(static_cast<std::uint32_t>(entry.tid))) continue;
    entry.mask.forbid();
    remove_trigger(entry);
    count_masked(entry);
    report_trigger(entry, now_ns);
  }
  flush_if_wanted();
}

bool was_traced() { return g_threads.traced; }

bool any_filtered() {
  if (g_threads.count == 0) return g_threads.some_were_filtered;
  return std::any_of(g_threads.entries, g_threads.entries + g_threads.count,
                     [](const ThreadEntry& entry) { return entry.filtered; });
}

bool any_needs_alt_stack() {
  return std::any_of(
      g_threads.entries, g_threads.entries + g_threads.count,
      [](const ThreadEntry& entry) { return entry.needs_alt_stack && entry.counted_none; });
}

void for_each_thread(void (*visitor)(ThreadEntry&, void*), void* argument) {
  for (std::uint32_t i = 0; i < g_threads.count; ++i) visitor(g_threads.entries[i], argument);
}

void reset_threads_after_fork() {
  g_threads.count = g_threads.opened = 0;
  g_threads.kind = nullptr;
  close_directory();
}

}  // namespace gpuprof::sample
