// SPDX-License-Identifier: Apache-2.0
//
// Scans the task directory and keeps triggers where they belong.
//
// Context:  worker
// Owns:     the list: one mapping, pages touched as threads appear
#include "inject/sample/threads.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/sample/alt_stacks.hpp"
#include "inject/sample/handler.hpp"
#include "inject/sample/kernel_signal.hpp"
#include "inject/sample/phdr_snapshot.hpp"
#include "inject/sample/proc_files.hpp"
#include "inject/sample/thread_status.hpp"

namespace gpuprof::sample {

namespace {

// A thread that will block signals mostly does so at once; after that a look a second will do.
constexpr std::uint32_t kEarlyChecks = 3;
// libc blocks all signals for a moment when it makes a thread or a process: look twice.
constexpr std::uint32_t kMaskedLooks = 2;
constexpr std::uint64_t kCheckPeriodNs = 1'000'000'000;
// A thread may get a stack when it makes another one: what is loaded makes its threads soon.
constexpr std::uint64_t kStackWaitNs = 300'000'000;

struct KeptDirectory {
  int fd = -1;
  dev_t device = 0;
  ino_t inode = 0;
};

struct Threads {
  ThreadEntry* entries = nullptr;
  std::uint32_t count = 0;
  std::uint32_t scan = 0;
  const TriggerKind* kind = nullptr;
  TriggerPlan plan;
  KeptDirectory directory;
  std::uint32_t opened = 0;  // triggers that hold a descriptor
  bool flush_wanted = false;
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
  return kept.fd = move_to_top(fd);
}

bool is_alive(pid_t tid) { return !hot::thread_has_ended(static_cast<std::uint32_t>(tid)); }

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
  return &g_threads.entries[at];
}

void tell(ThreadEntry& entry, std::uint32_t flags, std::uint64_t now_ns) {
  if (hot::g_outbox.thread == nullptr) return;
  if (entry.told_flags == flags && strcmp(entry.told_name, entry.name) == 0) return;
  entry.told_flags = flags;
  memcpy(entry.told_name, entry.name, sizeof entry.name);
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

void take_trigger(ThreadEntry& entry) {
  if (entry.has_trigger || g_threads.kind == nullptr) return;
  if (!may_be_sent_signals(entry)) return;
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
  if (entry.lacks_stack) count_without(entry);
}

void count_masked(ThreadEntry& entry) {
  if (!entry.counted_masked) hot::count(wire::Counter::kThreadsMasked);
  entry.counted_masked = true;
}

void look_for_stack(ThreadEntry& entry, std::uint64_t now_ns) {
  entry.lacks_stack = !may_be_sent_signals(entry);
  if (!entry.lacks_stack) entry.lacks_stack_ns = 0;
  if (!entry.lacks_stack) return;
  if (entry.lacks_stack_ns == 0) entry.lacks_stack_ns = now_ns;
  if (now_ns - entry.lacks_stack_ns < kStackWaitNs) return;
  count_without(entry);
}

void check(ThreadEntry& entry, std::uint64_t now_ns) {
  ThreadStatus status;
  if (!read_thread_status(entry.tid, &status)) return;
  memcpy(entry.name, status.name, sizeof entry.name);
  const std::uint64_t ours = signal_bit(g_threads.plan.signal);
  const bool blocked = (status.blocked & ours) != 0;
  entry.masked_looks = blocked ? std::min(entry.masked_looks + 1, kEarlyChecks) : 0;
  entry.masked = entry.masked_looks >= kMaskedLooks;
  if (entry.has_trigger && !g_threads.kind->intact(entry.slot)) drop_trigger(entry);
  if (entry.masked) {
    drop_trigger(entry);
    count_masked(entry);
    // It may wait for all signals next: ours must not be what it gets.
    if ((status.pending & ours) != 0) g_threads.flush_wanted = true;
  } else if (!blocked) {
    take_trigger(entry);
  }
  entry.checks = std::min(entry.checks + 1, kEarlyChecks);
  look_for_stack(entry, now_ns);
  const bool unsure = entry.checks < kEarlyChecks || (entry.lacks_stack && !entry.counted_none) ||
                      (blocked && entry.masked_looks < kEarlyChecks);
  entry.next_check_ns = unsure ? now_ns : now_ns + kCheckPeriodNs;
  std::uint32_t flags = entry.masked ? wire::kThreadMasked : 0;
  if (!entry.has_trigger && !blocked && g_threads.kind != nullptr) flags |= wire::kThreadNoTrigger;
  tell(entry, flags, now_ns);
}

void see(pid_t tid, std::uint64_t now_ns) {
  if (hot::is_our_thread(static_cast<std::uint32_t>(tid))) return;
  ThreadEntry* entry = find(tid);
  if (entry == nullptr) entry = add(tid);
  if (entry == nullptr) return;
  entry->scan = g_threads.scan;
  const bool got_stack = entry->lacks_stack && may_be_sent_signals(*entry);
  if (got_stack || now_ns >= entry->next_check_ns) check(*entry, now_ns);
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
      if (tid != 0) see(static_cast<pid_t>(tid), now_ns);
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
    tell(entry, wire::kThreadGone, now_ns);
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
  if (!read_directory(now_ns)) return;
  remove_dead(now_ns);
  if (g_threads.flush_wanted) flush_pending_signals();
  g_threads.flush_wanted = false;
  hot::retire_threads(is_gone, nullptr);
}

bool some_lack_a_stack() {
  return std::any_of(
      g_threads.entries, g_threads.entries + g_threads.count,
      [](const ThreadEntry& entry) { return entry.lacks_stack && entry.counted_none; });
}

void for_each_thread(void (*visitor)(ThreadEntry&, void*), void* argument) {
  for (std::uint32_t i = 0; i < g_threads.count; ++i) visitor(g_threads.entries[i], argument);
}

void forget_threads() {
  g_threads.count = 0;
  g_threads.opened = 0;
  g_threads.kind = nullptr;
  close_directory();
}

}  // namespace gpuprof::sample
