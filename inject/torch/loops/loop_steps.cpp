// SPDX-License-Identifier: Apache-2.0
//
// Tells the daemon of loops and their iterations, or counts them once it has chosen one.
//
// Context:  callback (look_for_steps: worker; forget_loops_after_fork: boundary)
// Owns:     a mapping with one place a thread, until unmap_loops()
#include "inject/torch/loops/loop_steps.hpp"

#include <sys/mman.h>

#include <atomic>

#include "inject/hot/steps.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/torch/loops/iterations.hpp"

namespace gpuprof::torch {
namespace {

/// What is kept for a thread. Zeroed memory is a valid one.
struct ThreadLoops {
  std::uint32_t owner;  // ThreadBlock::owner this belongs to
  bool user_step_open;
  /// A loader's __next__ began an iteration of the chosen loop; it is one if more comes.
  bool held, held_entry;
  std::uint64_t held_ns;
  std::uint64_t user_label, user_number;  // of the user's own step that is open
  hot::SentTable<256> defined;            // LoopDefs by id
  hot::SentTable<1024> stacks;            // StackLoops by stack
  std::uint64_t around;                   // … without stacks: hash of the last ones told
  hot::GraphCalls graphs;                 // at the last operator
  Iterations iterations;
};

constexpr std::size_t kTableBytes = sizeof(ThreadLoops) * hot::kMaxThreadBlocks;

constinit std::atomic<ThreadLoops*> g_threads{nullptr};
constinit std::atomic<std::uint32_t> g_source{static_cast<std::uint32_t>(wire::StepSource::kAuto)};
/// The program marks its steps itself: nothing else is one.
constinit std::atomic<bool> g_user_steps{false};

ThreadLoops* table() {
  ThreadLoops* known = g_threads.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  void* memory = mmap(nullptr, kTableBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* made = static_cast<ThreadLoops*>(memory);
  if (g_threads.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made;
  munmap(memory, kTableBytes);
  return known;
}

ThreadLoops* this_threads(const hot::Guard& guard) {
  ThreadLoops* all = table();
  if (all == nullptr) return nullptr;
  ThreadLoops& mine = all[guard.block().index];
  if (mine.owner != guard.block().owner) {
    mine.owner = guard.block().owner;
    mine.user_step_open = mine.held = false;
    mine.defined.forget_all();
    mine.stacks.forget_all();
    mine.around = 0;
    mine.graphs = {};
    mine.iterations.forget();
  }
  return &mine;
}

bool source_is(wire::StepSource one, wire::StepSource other) {
  const auto source = static_cast<wire::StepSource>(g_source.load(std::memory_order_relaxed));
  return source == one || source == other;
}

/// The daemon's choice.
struct Chosen {
  wire::StepRule rule;
  std::uint64_t key;
};

Chosen chosen() {
  const wire::Plan* plan = hot::g_state.plan;
  if (plan == nullptr) return {wire::StepRule::kNone, 0};
  // The daemon writes the key first.
  const auto rule = static_cast<wire::StepRule>(plan->step_rule.load(std::memory_order_acquire));
  return {rule, plan->step_key.load(std::memory_order_relaxed)};
}

/// False: something found no room.
bool define(const hot::Guard& guard, ThreadLoops& mine, const TopLevel& op, const LoopAt& loop,
            std::uint64_t id) {
  const wire::LaneWriter& lane = guard.outlet().lane;
  if (mine.defined.sent(id, lane.epoch())) return true;
  const std::uint32_t drops = lane.drops();
  const std::uint32_t flags = loop.level >= op.module_level ? wire::kLoopInModule : 0;
  const wire::LoopDef def{id, loop.code->id, loop.span.target, loop.span.jump, flags, 0};
  hot::record(guard, def, op.ts_ns);
  const python::QuickFrame& frame = op.frames[op.frame_count - 1 - loop.level];
  python::send_code(guard, frame.code, loop.code->id, op.ts_ns);
  if (lane.drops() != drops) return false;
  mine.defined.add(id);
  return true;
}

/// False: something found no room.
bool tell_loops(const hot::Guard& guard, ThreadLoops& mine, const TopLevel& op, const LoopAt* loops,
                std::uint32_t count) {
  std::uint64_t ids[kMaxLoops];
  for (std::uint32_t i = 0; i < count; ++i) {
    ids[i] = loops[i].id();
    if (!define(guard, mine, op, loops[i], ids[i])) return false;
  }
  const wire::StackLoops body{op.stack_id, count, 0};
  return hot::record(guard, body, op.ts_ns, ids, count * static_cast<std::uint32_t>(sizeof ids[0]));
}

void tell_stack(const hot::Guard& guard, ThreadLoops& mine, const TopLevel& op) {
  if (mine.stacks.sent(op.stack_id, guard.outlet().lane.epoch())) return;
  LoopAt loops[kMaxLoops];
  const std::uint32_t count = mine.iterations.around(loops);
  if (tell_loops(guard, mine, op, loops, count)) mine.stacks.add(op.stack_id);
}

/// The same for an operator whose stack is not recorded.
void tell_around(const hot::Guard& guard, ThreadLoops& mine, const TopLevel& op) {
  LoopAt loops[kMaxLoops];
  const std::uint32_t count = mine.iterations.around(loops);
  const wire::LaneWriter& lane = guard.outlet().lane;
  std::uint64_t hash = base::hash_step(base::hash_step(0x61726fu, lane.epoch()), lane.drops());
  for (std::uint32_t i = 0; i < count; ++i) hash = base::hash_step(hash, loops[i].id());
  if (hash == mine.around) return;
  mine.around = tell_loops(guard, mine, op, loops, count) ? hash : 0;
}

void tell_iteration(const hot::Guard& guard, ThreadLoops& mine, const TopLevel& op,
                    const LoopAt& loop) {
  const std::uint64_t id = loop.id();
  define(guard, mine, op, loop, id);
  hot::record_vital(guard, wire::LoopMark{op.ts_ns, id, loop.flags, 0}, op.ts_ns);
}

void tell_graphs(const hot::Guard& guard, std::uint64_t ts_ns, std::uint32_t flags,
                 std::uint32_t count = 0) {
  hot::record_vital(guard, wire::LoopMark{ts_ns, 0, flags, count}, ts_ns);
}

// While nothing is recorded the daemon learns from this which loops have optimizers, and of those
// that update nothing now.
void tell_optimizer(const hot::Guard& guard, ThreadLoops& mine, const TopLevel& op) {
  if (guard.block().graphs.capturing())
    return tell_graphs(guard, op.ts_ns, wire::kMarkCapture | wire::kMarkOptimizer);
  if (chosen().rule != wire::StepRule::kNone) return;
  LoopAt loops[kMaxLoops];
  const std::uint32_t count = mine.iterations.around(loops);
  for (std::uint32_t i = 0; i < count; ++i) {
    loops[i].flags = wire::kMarkOptimizer | (i == 0 ? wire::kMarkFirst : 0);
    tell_iteration(guard, mine, op, loops[i]);
  }
}

/// Where operators or launches are recorded, those tell all of it.
bool tells_graphs(const hot::Guard& guard) {
  return guard.block().graphs.any() && !hot::on(hot::kOnOperators | hot::kOnCuda);
}

/// Before the operator becomes the last one: what was launched since then was launched there.
void tell_replays(const hot::Guard& guard, ThreadLoops& mine, std::uint64_t ts_ns) {
  const std::uint32_t launched = guard.block().graphs.launches - mine.graphs.launches;
  if (launched != 0 && mine.around != 0 && chosen().rule == wire::StepRule::kNone)
    tell_graphs(guard, ts_ns, wire::kMarkReplays, launched);
}

/// Where the thread is, for replays to come; and a capture, whatever was chosen: that may have been
/// the warm-up for it.
void tell_captures(const hot::Guard& guard, ThreadLoops& mine, const TopLevel& op) {
  const hot::GraphCalls& now = guard.block().graphs;
  const bool begun = now.capturing() && now.captures != mine.graphs.captures;
  if (begun || chosen().rule == wire::StepRule::kNone)
    tell_around(guard, mine, op);
  else
    mine.around = 0;
  if (begun) tell_graphs(guard, op.ts_ns, wire::kMarkCapture);
}

void tell_place(const hot::Guard& guard, ThreadLoops& mine, const TopLevel& op) {
  if (op.stack_id != 0)
    tell_stack(guard, mine, op);
  else if (hot::on(hot::kOnOperators))
    tell_around(guard, mine, op);
  else if (tells_graphs(guard))
    tell_captures(guard, mine, op);
  if (guard.block().graphs.any()) mine.graphs = guard.block().graphs;
}

/// Whether an iteration with these flags is counted. An entry is one whatever moved.
bool counts(wire::StepRule rule, std::uint32_t flags) {
  if (rule == wire::StepRule::kLoopWeak) return true;
  return rule == wire::StepRule::kLoop &&
         ((flags & wire::kMarkFirst) != 0 || (flags & wire::kMarkWeak) == 0);
}

bool is_inside(const ThreadLoops& mine, std::uint64_t loop_id) {
  LoopAt loops[kMaxLoops];
  const std::uint32_t count = mine.iterations.around(loops);
  for (std::uint32_t i = 0; i < count; ++i)
    if (loops[i].id() == loop_id) return true;
  return false;
}

/// Whether this thread is the one whose iterations are steps: others may run the loop beside it,
/// and one may follow when it has ended.
bool is_counting_thread(std::uint32_t tid) {
  std::atomic<std::uint32_t>& chosen = hot::g_state.plan->step_tid;
  std::uint32_t counting = chosen.load(std::memory_order_relaxed);
  if (counting == 0 || counting == tid) return true;
  return hot::thread_has_ended(counting) &&
         chosen.compare_exchange_strong(counting, tid, std::memory_order_relaxed);
}

/// Whether an iteration of the chosen loop begins, and the loop is entered with it.
struct Round {
  bool begins = false, entry = false;
};

void count_step(const hot::Guard& guard, std::uint64_t ts_ns, bool entry) {
  hot::step_begin(guard, wire::StepSource::kLoop, ts_ns, 0, entry ? wire::kStepEntry : 0);
}

/// Counts an iteration of the chosen loop. One that only asks a loader, which has nothing more, is
/// none: what a loader begins waits for the next operator.
void count_round(const hot::Guard& guard, ThreadLoops& mine, const TopLevel& op, Round round,
                 std::uint64_t loop_id) {
  if (mine.held && !op.loader) {
    mine.held = false;
    if (!round.begins && is_inside(mine, loop_id)) count_step(guard, mine.held_ns, mine.held_entry);
  }
  if (!round.begins) return;
  if (op.loader) {
    mine.held = true;
    mine.held_entry = round.entry;
    mine.held_ns = op.ts_ns;
  } else {
    count_step(guard, op.ts_ns, round.entry);
  }
}

}  // namespace

void look_for_steps(wire::StepSource source) {
  g_source.store(static_cast<std::uint32_t>(source), std::memory_order_relaxed);
}

void top_level_begins(const hot::Guard& guard, const TopLevel& op) {
  if (!hot::on(hot::kOnOpSteps) || op.frame_count == 0 || op.frame_count > kMaxLevels) return;
  if (g_user_steps.load(std::memory_order_relaxed) ||
      !source_is(wire::StepSource::kAuto, wire::StepSource::kLoop))
    return;
  ThreadLoops* mine = this_threads(guard);
  if (mine == nullptr) return;
  std::atomic<std::uint32_t>& ops = hot::t_here.slot->step_ops;
  ops.store(ops.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (tells_graphs(guard)) tell_replays(guard, *mine, op.ts_ns);
  LoopAt begun[kMaxLoops];
  const std::uint32_t count = mine->iterations.next(op, Look{}, begun);
  tell_place(guard, *mine, op);
  const bool unseen = op.optimizer && !hot::on(hot::kOnOperators);
  if (count == 0 && !mine->held && !unseen) return;
  const Chosen choice = chosen();
  Round round;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (choice.rule == wire::StepRule::kNone)
      tell_iteration(guard, *mine, op, begun[i]);
    else if (counts(choice.rule, begun[i].flags) && begun[i].id() == choice.key)
      round = {true, (begun[i].flags & wire::kMarkFirst) != 0};
  }
  if (round.begins) round.begins = is_counting_thread(guard.tid());
  if (choice.rule == wire::StepRule::kLoop || choice.rule == wire::StepRule::kLoopWeak)
    count_round(guard, *mine, op, round, choice.key);
  else
    mine->held = false;
  if (unseen) tell_optimizer(guard, *mine, op);
}

void top_level_ends(const hot::Guard& guard, std::uint64_t name_id, std::uint64_t ts_ns) {
  if (!hot::on(hot::kOnOpSteps) || g_user_steps.load(std::memory_order_relaxed)) return;
  const Chosen choice = chosen();
  if (choice.rule == wire::StepRule::kOpEnd && choice.key == name_id)
    hot::step_begin(guard, wire::StepSource::kOptimizer, ts_ns);
}

void user_step_begins(const hot::Guard& guard, std::uint64_t k, std::uint64_t ts_ns) {
  if (!hot::on(hot::kOnOpSteps) || !source_is(wire::StepSource::kAuto, wire::StepSource::kUser))
    return;
  g_user_steps.store(true, std::memory_order_relaxed);
  const std::uint64_t number = hot::step_begin(guard, wire::StepSource::kUser, ts_ns, k);
  ThreadLoops* mine = this_threads(guard);
  if (mine == nullptr) return;
  mine->user_step_open = true;
  mine->user_label = k;
  mine->user_number = number;
}

void user_step_ends(const hot::Guard& guard, std::uint64_t k, std::uint64_t ts_ns) {
  ThreadLoops* mine = this_threads(guard);
  if (mine == nullptr || !mine->user_step_open || mine->user_label != k) return;
  mine->user_step_open = false;
  hot::step_end(guard, wire::StepSource::kUser, mine->user_number, ts_ns);
}

void unmap_loops() {
  ThreadLoops* all = g_threads.exchange(nullptr, std::memory_order_acq_rel);
  if (all != nullptr) munmap(all, kTableBytes);
  g_user_steps.store(false, std::memory_order_relaxed);
}

void forget_loops_after_fork() {
  ThreadLoops* all = g_threads.load(std::memory_order_acquire);
  if (all != nullptr) madvise(all, kTableBytes, MADV_DONTNEED);
  g_user_steps.store(false, std::memory_order_relaxed);
}

}  // namespace gpuprof::torch
