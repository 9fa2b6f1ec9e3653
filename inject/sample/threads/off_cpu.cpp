// SPDX-License-Identifier: Apache-2.0
//
// One look at each sleeping thread.
//
// Context:  worker
// Owns:     the copy's buffer
#include "inject/sample/threads/off_cpu.hpp"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/clock.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/proc_files.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

namespace gpuprof::sample {

namespace {

constexpr std::size_t kCopyBytes = 32u << 10;
constexpr std::size_t kPageBytes = 4096;
// A sleeper's record is renewed this often; the wall time in between is its weight.
constexpr std::uint64_t kRepeatNs = 200'000'000;
// So many new walks a second and at a time: fifty threads that wake all the time stay below 1 % of
// a core.
constexpr std::uint64_t kWalkNs = 2'500'000, kMaxWalks = 32;
// A look at a thread is one clock reading.
constexpr std::uint64_t kMinPauseNs = 10'000'000, kMaxPauseNs = 80'000'000;

alignas(64) constinit unsigned char g_copy[kCopyBytes];

// Walks that are allowed from now on, as the time since which none was made.
constinit std::uint64_t g_walks_from_ns = 0;

enum class PassReason {
  kDue,       // threads that are
  kIdleStep,  // threads between two steps, at once
  kLast,      // of a session: what waits is reported up to now
};

struct OffCpuPass {
  const hot::Guard* guard;
  const UnblockFaultSignals* open;
  StackParts parts;
  std::uint64_t now_ns, pause_ns;
  std::uint64_t next_ns;  // when the first thread is due again
  PassReason why;
  bool allowed = true;
};

bool may_walk(const OffCpuPass& turn) {
  g_walks_from_ns = std::max(g_walks_from_ns, turn.now_ns - kMaxWalks * kWalkNs);
  if (g_walks_from_ns + kWalkNs > turn.now_ns) return false;
  g_walks_from_ns += kWalkNs;
  return true;
}

struct KernelPlace {
  std::uint64_t stack, program_counter;
};

bool cpu_time_of(pid_t tid, std::uint64_t* ns) {
  timespec at;
  if (clock_gettime(cpu_clock_of(tid), &at) != 0) return false;
  *ns = static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000u +
        static_cast<std::uint64_t>(at.tv_nsec);
  return true;
}

// "running", "-1 SP PC", or "NR A0 … A5 SP PC": the last two fields are what is wanted.
bool parse_place(char* line, KernelPlace* place) {
  line[strcspn(line, "\n")] = '\0';
  char* program_counter = strrchr(line, ' ');
  if (program_counter == nullptr) return false;
  *program_counter++ = '\0';
  char* stack = strrchr(line, ' ');
  if (stack == nullptr) return false;
  parse_hex(stack + 1, &place->stack);
  parse_hex(program_counter, &place->program_counter);
  return place->stack != 0 && place->program_counter != 0;
}

bool read_place(pid_t tid, KernelPlace* place) {
  char path[64], line[256];
  task_path(path, sizeof path, tid, "syscall");
  return read_small_file(path, line, sizeof line) > 0 && parse_place(line, place);
}

// Page by page, so that the end of the stack's mapping only ends the copy.
std::size_t copy_stack(std::uintptr_t from) {
  iovec remote[kCopyBytes / kPageBytes + 1];
  unsigned long parts = 0;
  const std::uintptr_t end = from + kCopyBytes;
  for (std::uintptr_t at = from; at < end; ++parts) {
    const std::uintptr_t next = std::min(end, (at / kPageBytes + 1) * kPageBytes);
    remote[parts] = {reinterpret_cast<void*>(at), next - at};
    at = next;
  }
  const iovec local{g_copy, kCopyBytes};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, remote, parts, 0);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

bool in_code(const Snapshot* modules, std::uint64_t address) {
  return address > 1 && find_module(modules, address - 1) != nullptr;
}

// The kernel tells no frame pointer. The first frame that saved it gives it back, but in code built
// with frame pointers the caller of a system call's stub needs it at once: look for the first two
// linked frame records.
std::uint64_t guess_frame_pointer(std::uintptr_t begin, std::size_t bytes) {
  const Snapshot* modules = current_snapshot();
  const auto word = [](std::size_t at) { return base::load<std::uint64_t>(g_copy + at); };
  for (std::size_t at = begin % 8 == 0 ? 0 : 8 - begin % 8; at + 16 <= bytes; at += 8) {
    const std::uint64_t next = word(at) - begin;
    if (next <= at || (begin + next) % 8 != 0 || next > bytes - 16) continue;
    if (in_code(modules, word(at + 8)) && in_code(modules, word(next + 8))) return begin + at;
  }
  return 0;
}

void emit(const OffCpuPass& turn, const ThreadEntry& entry, wire::SampleState state,
          std::uint64_t stack_id, WaitTracker::Record record) {
  if (record.weight_ns == 0) return;
  const wire::Sample sample{record.ts_ns, stack_id, static_cast<std::uint32_t>(entry.tid),
                            static_cast<std::uint32_t>(state), record.weight_ns};
  hot::record(*turn.guard, sample, record.ts_ns);
  hot::count(wire::Counter::kSamplesBlocked);
}

// As it was before a definition was sent: another number once anything found no room.
std::uint64_t ring_mark_of(const hot::Guard& guard) {
  const wire::RingWriter& ring = guard.producer().ring;
  return std::uint64_t{ring.epoch()} << 32 | ring.drop_count();
}

enum class CaptureResult { kYes, kAwake, kMoved };

CaptureResult take(OffCpuPass& turn, ThreadEntry& entry) {
  OffCpuState& memory = entry.off_cpu;
  KernelPlace place;
  if (!read_place(entry.tid, &place)) return CaptureResult::kAwake;
  const std::size_t bytes = copy_stack(place.stack);
  if (bytes < 8) {
    if (errno == EPERM || errno == ENOSYS) turn.allowed = false;
    return CaptureResult::kMoved;
  }
  StackRequest request;
  request.start =
      registers_at(place.program_counter, place.stack, guess_frame_pointer(place.stack, bytes));
  request.interrupted = true;
  request.copy = StackCopy{place.stack, bytes, g_copy};
  request.blocked_tid = entry.tid;
  request.read_python = python::read_remote_frames;
  request.flags = wire::kStackFromCopy;
  request.parts = turn.parts;
  const std::uint64_t ring = ring_mark_of(*turn.guard);
  const std::uint64_t id = capture_stack(*turn.guard, request, turn.now_ns);
  // A thread that ran at all has more CPU time: stronger than reading its place again, and cheaper.
  std::uint64_t cpu_ns = 0;
  if (!cpu_time_of(entry.tid, &cpu_ns) || cpu_ns != memory.cpu_ns) {
    hot::count(wire::Counter::kBlockedTorn);
    return CaptureResult::kMoved;
  }
  memory.stack_id = id;
  memory.ring_mark = ring;
  memory.taken_ns = turn.now_ns;
  return id != 0 ? CaptureResult::kYes : CaptureResult::kMoved;
}

// It has waited since the last look at least.
void continue_wait(OffCpuPass& turn, ThreadEntry& entry) {
  OffCpuState& memory = entry.off_cpu;
  const bool known = memory.stack_id != 0 && memory.ring_mark == ring_mark_of(*turn.guard);
  if (!known && !(may_walk(turn) && take(turn, entry) == CaptureResult::kYes)) return;
  const bool first = memory.reported_until_ns == 0 || !known;
  if (!first && turn.why != PassReason::kLast && turn.now_ns - memory.reported_until_ns < kRepeatNs)
    return;
  const std::uint64_t from_ns =
      memory.reported_until_ns != 0 ? memory.reported_until_ns : memory.wait.began_ns();
  emit(turn, entry, first ? wire::SampleState::kBlocked : wire::SampleState::kBlockedRepeat,
       memory.stack_id, {turn.now_ns, turn.now_ns - from_ns});
  memory.reported_until_ns = turn.now_ns;
}

// What it waited for is over; it may be in another wait already.
void end_wait(OffCpuPass& turn, ThreadEntry& entry) {
  OffCpuState& memory = entry.off_cpu;
  if (memory.reported_until_ns != 0) {
    memory.over_stack_id = memory.stack_id;
    memory.over_reported_ns = memory.reported_until_ns;
  } else if (memory.stack_id != 0) {
    emit(turn, entry, wire::SampleState::kBlocked, memory.stack_id,
         {memory.taken_ns, memory.stands_for_ns});
  }
  memory.stack_id = memory.reported_until_ns = memory.stands_for_ns = 0;
}

// What was run since says how long it was.
void report_wait_end(const OffCpuPass& turn, ThreadEntry& entry) {
  OffCpuState& memory = entry.off_cpu;
  if (memory.over_stack_id == 0) return;
  emit(turn, entry, wire::SampleState::kBlockedRepeat, memory.over_stack_id,
       memory.wait.unreported_end(memory.over_reported_ns));
  memory.over_stack_id = 0;
}

void probe(OffCpuPass& turn, ThreadEntry& entry) {
  OffCpuState& memory = entry.off_cpu;
  if (!memory.wait.wants_probe() || !may_walk(turn)) return;
  switch (take(turn, entry)) {
    case CaptureResult::kYes:
      memory.stands_for_ns = memory.wait.probe_found_waiting();
      return;
    case CaptureResult::kAwake:
      return memory.wait.probe_found_running();
    case CaptureResult::kMoved:
      return memory.wait.probe_without_stack();
  }
}

// Steps are distinguished by where their thread is now: the wait is reported at once, for the time
// it has not run since the last look.
void report_wait_so_far(OffCpuPass& turn, ThreadEntry& entry) {
  OffCpuState& memory = entry.off_cpu;
  if (!may_walk(turn) || take(turn, entry) != CaptureResult::kYes) return;
  const std::uint64_t began_ns = memory.wait.began_ns();
  emit(turn, entry, wire::SampleState::kBlocked, memory.stack_id,
       {turn.now_ns, std::max<std::uint64_t>(turn.now_ns - began_ns, 1)});
  memory.reported_until_ns = turn.now_ns;
  memory.wait.mark_reported(turn.now_ns - began_ns);
}

void sample_thread(ThreadEntry& entry, void* argument) {
  OffCpuPass& turn = *static_cast<OffCpuPass*>(argument);
  OffCpuState& memory = entry.off_cpu;
  std::uint64_t cpu_ns = 0;
  if (!turn.allowed || turn.open->has_deferred()) return;
  if (turn.why == PassReason::kDue && !memory.wait.is_due(turn.now_ns)) {
    turn.next_ns = std::min(turn.next_ns, memory.wait.due_ns());
    return;
  }
  if (!cpu_time_of(entry.tid, &cpu_ns)) return;
  memory.cpu_ns = cpu_ns;
  const WaitTracker::Observation seen = memory.wait.observe(turn.now_ns, cpu_ns);
  report_wait_end(turn, entry);
  if (seen == WaitTracker::Observation::kAsleep) {
    continue_wait(turn, entry);
  } else if (seen == WaitTracker::Observation::kMoved) {
    end_wait(turn, entry);
    if (turn.why == PassReason::kIdleStep)
      report_wait_so_far(turn, entry);
    else
      probe(turn, entry);
  }
  memory.wait.plan_next(seen, turn.pause_ns);
  turn.next_ns = std::min(turn.next_ns, memory.wait.due_ns());
}

/// What was known of the threads that make steps, by their ids.
struct IdleStepThreads {
  struct Known {
    std::uint32_t tid, ops;
  } known[hot::kMaxThreadBlocks];
  std::uint32_t tids[hot::kMaxThreadBlocks];  // of those that rest
  std::uint32_t count;
  bool some_step;
};
constinit IdleStepThreads g_resting{};

void find_resting(hot::ThreadSlot& slot, void*) {
  const std::uint32_t ops = slot.step_ops.load(std::memory_order_relaxed);
  const std::uint32_t tid = slot.tid.load(std::memory_order_relaxed);
  if (ops == 0 || g_resting.count == hot::kMaxThreadBlocks) return;
  g_resting.some_step = true;
  IdleStepThreads::Known& known = g_resting.known[tid % hot::kMaxThreadBlocks];
  if (known.tid == tid && known.ops == ops) g_resting.tids[g_resting.count++] = tid;
  known = {tid, ops};
}

void look_if_resting(ThreadEntry& entry, void* argument) {
  const std::uint32_t* begin = g_resting.tids;
  const std::uint32_t* end = begin + g_resting.count;
  if (std::find(begin, end, static_cast<std::uint32_t>(entry.tid)) != end)
    sample_thread(entry, argument);
}

// @return when the first of them is due again, 0: not allowed.
std::uint64_t look_at(void (*visitor)(ThreadEntry&, void*), const StackParts& parts,
                      std::uint64_t period_ns, std::uint64_t now_ns, PassReason why) {
  const std::uint64_t pause_ns = std::clamp(2 * period_ns, kMinPauseNs, kMaxPauseNs);
  const std::uint64_t later_ns = now_ns + kMaxPauseNs;
  hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return later_ns;
  SnapshotReader at_work;
  const UnblockFaultSignals open(blocked_signals());
  if (open.has_deferred()) return later_ns;
  OffCpuPass turn{&guard, &open, parts, now_ns, pause_ns, later_ns, why};
  for_each_thread(visitor, &turn);
  return turn.allowed ? turn.next_ns : 0;
}

}  // namespace

std::uint64_t sample_off_cpu_threads(const StackParts& parts, std::uint64_t period_ns,
                                     std::uint64_t now_ns, bool last) {
  return look_at(sample_thread, parts, period_ns, now_ns,
                 last ? PassReason::kLast : PassReason::kDue);
}

bool sample_idle_step_threads(const StackParts& parts, std::uint64_t period_ns,
                              std::uint64_t now_ns, bool* some_step) {
  g_resting.count = 0;
  g_resting.some_step = false;
  hot::for_each_slot(find_resting, nullptr);
  *some_step = g_resting.some_step;
  return g_resting.count == 0 ||
         look_at(look_if_resting, parts, period_ns, now_ns, PassReason::kIdleStep) != 0;
}

}  // namespace gpuprof::sample
