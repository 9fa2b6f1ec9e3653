// SPDX-License-Identifier: Apache-2.0
//
// One look at each sleeping thread.
//
// Context:  worker
// Owns:     the copy's buffer
#include "inject/sample/blocked.hpp"

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
#include "inject/sample/fault_guard.hpp"
#include "inject/sample/kernel_signal.hpp"
#include "inject/sample/phdr_snapshot.hpp"
#include "inject/sample/proc_files.hpp"

namespace gpuprof::sample {

namespace {

constexpr std::size_t kCopyBytes = 32u << 10;
constexpr std::size_t kPageBytes = 4096;
// A sleeper's record is renewed this often; the wall time in between is its weight.
constexpr std::uint64_t kRepeatNs = 200'000'000;
// At most so many new walks a turn: fifty threads that wake all the time stay below 1 % of a core.
constexpr std::uint32_t kWalksPerTurn = 32;

alignas(64) constinit unsigned char g_copy[kCopyBytes];

struct Turn {
  const hot::Guard* guard;
  const OpenFaults* open;
  StackParts parts;
  std::uint64_t now_ns;
  std::uint32_t walks = 0;
  bool allowed = true;
};

struct Place {
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
bool parse_place(char* line, Place* place) {
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

bool read_place(pid_t tid, Place* place) {
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

void emit(const Turn& turn, const ThreadEntry& entry, wire::SampleState state, std::uint64_t ts_ns,
          std::uint64_t weight_ns) {
  const wire::Sample sample{ts_ns, entry.blocked.stack_id, static_cast<std::uint32_t>(entry.tid),
                            static_cast<std::uint32_t>(state), weight_ns};
  hot::record(*turn.guard, sample, ts_ns);
  hot::count(wire::Counter::kSamplesBlocked);
}

// As it was before a definition was sent: another number once anything found no room.
std::uint64_t lane_of(const hot::Guard& guard) {
  const wire::LaneWriter& lane = guard.outlet().lane;
  return std::uint64_t{lane.epoch()} << 32 | lane.drops();
}

void walk(Turn& turn, ThreadEntry& entry, const Place& place, std::uint64_t weight_ns) {
  BlockedMemory& memory = entry.blocked;
  const std::size_t bytes = copy_stack(place.stack);
  if (bytes < 8) {
    if (errno == EPERM || errno == ENOSYS) turn.allowed = false;
    return;
  }
  StackRequest request;
  request.start =
      registers_at(place.program_counter, place.stack, guess_frame_pointer(place.stack, bytes));
  request.interrupted = true;
  request.copy = StackCopy{place.stack, bytes, g_copy};
  request.blocked_tid = entry.tid;
  request.read_python = python::read_blocked;
  request.flags = wire::kStackCopied;
  request.parts = turn.parts;
  const std::uint64_t lane = lane_of(*turn.guard);
  const std::uint64_t id = take_stack(*turn.guard, request, turn.now_ns);
  // A thread that ran at all has more CPU time: stronger than reading its place again, and cheaper.
  std::uint64_t cpu_ns = 0;
  if (!cpu_time_of(entry.tid, &cpu_ns) || cpu_ns != memory.cpu_ns) {
    hot::count(wire::Counter::kBlockedTorn);
    return;
  }
  memory.stack_id = id;
  memory.lane = lane;
  memory.told_ns = turn.now_ns;
  emit(turn, entry, wire::SampleState::kBlocked, turn.now_ns, weight_ns);
}

bool still_asleep(const Turn& turn, const BlockedMemory& memory, std::uint64_t cpu_ns) {
  return memory.stack_id != 0 && cpu_ns == memory.cpu_ns && memory.lane == lane_of(*turn.guard);
}

void repeat(const Turn& turn, ThreadEntry& entry, std::uint64_t until_ns) {
  BlockedMemory& memory = entry.blocked;
  if (until_ns <= memory.told_ns) return;
  emit(turn, entry, wire::SampleState::kBlockedRepeat, until_ns, until_ns - memory.told_ns);
  memory.told_ns = until_ns;
}

void look(ThreadEntry& entry, void* argument) {
  Turn& turn = *static_cast<Turn*>(argument);
  BlockedMemory& memory = entry.blocked;
  std::uint64_t cpu_ns = 0;
  if (!turn.allowed || turn.open->some_wait() || !cpu_time_of(entry.tid, &cpu_ns)) return;
  if (still_asleep(turn, memory, cpu_ns)) {
    memory.looked_ns = turn.now_ns;
    if (turn.now_ns - memory.told_ns >= kRepeatNs) repeat(turn, entry, turn.now_ns);
    return;
  }
  // It woke some time after the last look; up to then it slept.
  if (memory.stack_id != 0) repeat(turn, entry, memory.looked_ns);
  const std::uint64_t since = memory.looked_ns, ran_ns = memory.cpu_ns;
  memory.stack_id = 0;
  memory.cpu_ns = cpu_ns;
  memory.looked_ns = turn.now_ns;
  Place place;
  if (turn.walks >= kWalksPerTurn || !read_place(entry.tid, &place)) return;
  ++turn.walks;
  // What it did not run of the time since then.
  const std::uint64_t passed_ns = since == 0 ? 0 : turn.now_ns - since;
  walk(turn, entry, place, passed_ns - std::min(passed_ns, cpu_ns - ran_ns));
}

/// What was known of the threads that make steps, by their places in the table of blocks.
struct Resting {
  std::uint32_t ops[hot::kMaxThreadBlocks];
  std::uint32_t tids[hot::kMaxThreadBlocks];  // of those that rest
  std::uint32_t count;
  bool some_step;
};
constinit Resting g_resting{};

void find_resting(hot::ThreadSlot& slot, void*) {
  const hot::ThreadBlock* block = slot.block;
  if (block == nullptr || block->index >= hot::kMaxThreadBlocks) return;
  const std::uint32_t ops = block->step_ops.load(std::memory_order_relaxed);
  std::uint32_t& known = g_resting.ops[block->index];
  g_resting.some_step = g_resting.some_step || ops != 0;
  if (ops != 0 && ops == known)
    g_resting.tids[g_resting.count++] = slot.tid.load(std::memory_order_relaxed);
  known = ops;
}

void look_if_resting(ThreadEntry& entry, void* argument) {
  const std::uint32_t* begin = g_resting.tids;
  const std::uint32_t* end = begin + g_resting.count;
  if (std::find(begin, end, static_cast<std::uint32_t>(entry.tid)) != end) look(entry, argument);
}

bool look_at(void (*visitor)(ThreadEntry&, void*), const StackParts& parts, std::uint64_t now_ns) {
  hot::Guard guard(hot::Role::kCallback);
  if (!guard) return true;
  SnapshotUse at_work;
  const OpenFaults open(blocked_signals());
  if (open.some_wait()) return true;
  Turn turn{&guard, &open, parts, now_ns};
  for_each_thread(visitor, &turn);
  return turn.allowed;
}

}  // namespace

bool look_at_blocked_threads(const StackParts& parts, std::uint64_t now_ns) {
  return look_at(look, parts, now_ns);
}

bool look_at_resting_threads(const StackParts& parts, std::uint64_t now_ns, bool* some_step) {
  g_resting.count = 0;
  g_resting.some_step = false;
  hot::for_each_slot(find_resting, nullptr);
  *some_step = g_resting.some_step;
  return g_resting.count == 0 || look_at(look_if_resting, parts, now_ns);
}

}  // namespace gpuprof::sample
