// SPDX-License-Identifier: Apache-2.0
//
// Tells the daemon of loops and their iterations, or counts them once it has chosen one.
//
// Context:  callback (set_step_source, unmap_thread_loops: worker; reset_loops_after_fork:
//           boundary)
// Owns:     a mapping with one place a thread, until unmap_thread_loops()
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
  bool pending, pending_entry;
  std::uint64_t pending_ns;
  std::uint64_t user_label, user_number;  // of the user's own step that is open
  hot::SentTable<256> defined;            // LoopDefs by id
  hot::SentTable<1024> stacks;            // StackLoops by stack
  std::uint64_t around;                   // … without stacks: hash of the last ones told
  hot::GraphCallState graphs;             // at the last operator
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

ThreadLoops* thread_loops_of(const hot::Guard& guard) {
  ThreadLoops* all = table();
  if (all == nullptr) return nullptr;
  ThreadLoops& mine = all[guard.block().index];
  if (mine.owner != guard.block().owner) {
    mine.owner = guard.block().owner;
    mine.user_step_open = mine.pending = false;
    mine.defined.clear_all();
    mine.stacks.clear_all();
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
struct SelectedRule {
  wire::StepRule rule;
  std::uint64_t key;
};

SelectedRule selected_rule() {
  const wire::Plan* plan = hot::g_state.plan;
  if (plan == nullptr) return {wire::StepRule::kNone, 0};
  // The daemon writes the key first.
  const auto rule = static_cast<wire::StepRule>(plan->step_rule.load(std::memory_order_acquire));
  return {rule, plan->step_key.load(std::memory_order_relaxed)};
}

/// False: something found no room.
bool define(const hot::Guard& guard, ThreadLoops& mine, const TopLevelOp& op,
            const ActiveLoop& loop, std::uint64_t id) {
  const wire::RingWriter& ring = guard.producer().ring;
  if (mine.defined.contains(id, ring.epoch())) return true;
  const std::uint32_t drops = ring.drop_count();
  const std::uint32_t flags = loop.level >= op.module_level ? wire::kLoopInModule : 0;
  const wire::LoopDef def{id, loop.code->id, loop.span.target, loop.span.jump, flags, 0};
  hot::record(guard, def, op.ts_ns);
  const python::FastFrame& frame = op.frames[op.frame_count - 1 - loop.level];
  python::send_code(guard, frame.code, loop.code->id, op.ts_ns);
  if (ring.drop_count() != drops) return false;
  mine.defined.insert(id);
  return true;
}

/// False: something found no room.
bool report_loops(const hot::Guard& guard, ThreadLoops& mine, const TopLevelOp& op,
                  const ActiveLoop* loops, std::uint32_t count) {
  std::uint64_t ids[kMaxLoops];
  for (std::uint32_t i = 0; i < count; ++i) {
    ids[i] = loops[i].id();
    if (!define(guard, mine, op, loops[i], ids[i])) return false;
  }
  const wire::StackLoops body{op.stack_id, count, 0};
  return hot::record(guard, body, op.ts_ns, ids, count * static_cast<std::uint32_t>(sizeof ids[0]));
}

void report_stack_loops(const hot::Guard& guard, ThreadLoops& mine, const TopLevelOp& op) {
  if (mine.stacks.contains(op.stack_id, guard.producer().ring.epoch())) return;
  ActiveLoop loops[kMaxLoops];
  const std::uint32_t count = mine.iterations.around(loops);
  if (report_loops(guard, mine, op, loops, count)) mine.stacks.insert(op.stack_id);
}

/// The same for an operator whose stack is not recorded.
void report_loops_without_stack(const hot::Guard& guard, ThreadLoops& mine, const TopLevelOp& op) {
  ActiveLoop loops[kMaxLoops];
  const std::uint32_t count = mine.iterations.around(loops);
  const wire::RingWriter& ring = guard.producer().ring;
  std::uint64_t hash = base::hash_step(base::hash_step(0x61726fu, ring.epoch()), ring.drop_count());
  for (std::uint32_t i = 0; i < count; ++i) hash = base::hash_step(hash, loops[i].id());
  if (hash == mine.around) return;
  mine.around = report_loops(guard, mine, op, loops, count) ? hash : 0;
}

void report_iteration(const hot::Guard& guard, ThreadLoops& mine, const TopLevelOp& op,
                      const ActiveLoop& loop) {
  const std::uint64_t id = loop.id();
  define(guard, mine, op, loop, id);
  hot::record_reserved(guard, wire::LoopMark{op.ts_ns, id, loop.flags, 0}, op.ts_ns);
}

void report_graph_mark(const hot::Guard& guard, std::uint64_t ts_ns, std::uint32_t flags,
                       std::uint32_t count = 0) {
  hot::record_reserved(guard, wire::LoopMark{ts_ns, 0, flags, count}, ts_ns);
}

// While nothing is recorded the daemon learns from this which loops have optimizers, and of those
// that update nothing now.
void report_optimizer(const hot::Guard& guard, ThreadLoops& mine, const TopLevelOp& op) {
  if (guard.block().graphs.capturing())
    return report_graph_mark(guard, op.ts_ns, wire::kMarkGraphCapture | wire::kMarkOptimizer);
  if (selected_rule().rule != wire::StepRule::kNone) return;
  ActiveLoop loops[kMaxLoops];
  const std::uint32_t count = mine.iterations.around(loops);
  for (std::uint32_t i = 0; i < count; ++i) {
    loops[i].flags = wire::kMarkOptimizer | (i == 0 ? wire::kMarkLoopEntry : 0);
    report_iteration(guard, mine, op, loops[i]);
  }
}

/// Where operators or launches are recorded, those tell all of it.
bool reports_graphs(const hot::Guard& guard) {
  return guard.block().graphs.any() && !hot::on(hot::kOnOperators | hot::kOnCuda);
}

/// Before the operator becomes the last one: what was launched since then was launched there.
void report_replays(const hot::Guard& guard, ThreadLoops& mine, std::uint64_t ts_ns) {
  const std::uint32_t launched = guard.block().graphs.launches - mine.graphs.launches;
  if (launched != 0 && mine.around != 0 && selected_rule().rule == wire::StepRule::kNone)
    report_graph_mark(guard, ts_ns, wire::kMarkGraphReplays, launched);
}

/// Where the thread is, for replays to come; and a capture, whatever was chosen: that may have been
/// the warm-up for it.
void report_captures(const hot::Guard& guard, ThreadLoops& mine, const TopLevelOp& op) {
  const hot::GraphCallState& now = guard.block().graphs;
  const bool begun = now.capturing() && now.captures != mine.graphs.captures;
  if (begun || selected_rule().rule == wire::StepRule::kNone)
    report_loops_without_stack(guard, mine, op);
  else
    mine.around = 0;
  if (begun) report_graph_mark(guard, op.ts_ns, wire::kMarkGraphCapture);
}

void report_loop_context(const hot::Guard& guard, ThreadLoops& mine, const TopLevelOp& op) {
  if (op.stack_id != 0)
    report_stack_loops(guard, mine, op);
  else if (hot::on(hot::kOnOperators))
    report_loops_without_stack(guard, mine, op);
  else if (reports_graphs(guard))
    report_captures(guard, mine, op);
  if (guard.block().graphs.any()) mine.graphs = guard.block().graphs;
}

/// Whether an iteration with these flags is counted. An entry is one whatever moved.
bool counts(wire::StepRule rule, std::uint32_t flags) {
  if (rule == wire::StepRule::kLoopInferred) return true;
  return rule == wire::StepRule::kLoop &&
         ((flags & wire::kMarkLoopEntry) != 0 || (flags & wire::kMarkInferred) == 0);
}

bool is_inside(const ThreadLoops& mine, std::uint64_t loop_id) {
  ActiveLoop loops[kMaxLoops];
  const std::uint32_t count = mine.iterations.around(loops);
  for (std::uint32_t i = 0; i < count; ++i)
    if (loops[i].id() == loop_id) return true;
  return false;
}

/// Whether this thread is the one whose iterations are steps: others may run the loop beside it,
/// and one may follow when it has ended.
bool is_counting_thread(std::uint32_t tid) {
  std::atomic<std::uint32_t>& step_tid = hot::g_state.plan->step_tid;
  std::uint32_t counting = step_tid.load(std::memory_order_relaxed);
  if (counting == 0 || counting == tid) return true;
  return hot::thread_exited(counting) &&
         step_tid.compare_exchange_strong(counting, tid, std::memory_order_relaxed);
}

/// Whether an iteration of the chosen loop begins, and the loop is entered with it.
struct IterationStart {
  bool begins = false, entry = false;
};

void count_step(const hot::Guard& guard, std::uint64_t ts_ns, bool entry) {
  hot::step_begin(guard, wire::StepSource::kLoop, ts_ns, 0, entry ? wire::kStepLoopEntry : 0);
}

/// Counts an iteration of the chosen loop. One that only asks a loader, which has nothing more, is
/// none: what a loader begins waits for the next operator.
void count_iteration(const hot::Guard& guard, ThreadLoops& mine, const TopLevelOp& op,
                     IterationStart round, std::uint64_t loop_id) {
  if (mine.pending && !op.is_data_loader) {
    mine.pending = false;
    if (!round.begins && is_inside(mine, loop_id))
      count_step(guard, mine.pending_ns, mine.pending_entry);
  }
  if (!round.begins) return;
  if (op.is_data_loader) {
    mine.pending = true;
    mine.pending_entry = round.entry;
    mine.pending_ns = op.ts_ns;
  } else {
    count_step(guard, op.ts_ns, round.entry);
  }
}

}  // namespace

void set_step_source(wire::StepSource source) {
  g_source.store(static_cast<std::uint32_t>(source), std::memory_order_relaxed);
}

void on_top_level_begin(const hot::Guard& guard, const TopLevelOp& op) {
  if (!hot::on(hot::kOnOpSteps) || op.frame_count == 0 || op.frame_count > kMaxLevels) return;
  if (g_user_steps.load(std::memory_order_relaxed) ||
      !source_is(wire::StepSource::kAuto, wire::StepSource::kLoop))
    return;
  ThreadLoops* mine = thread_loops_of(guard);
  if (mine == nullptr) return;
  std::atomic<std::uint32_t>& ops = hot::t_local.slot->step_ops;
  ops.store(ops.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (reports_graphs(guard)) report_replays(guard, *mine, op.ts_ns);
  ActiveLoop begun[kMaxLoops];
  const std::uint32_t count = mine->iterations.next(op, FrameProbes{}, begun);
  report_loop_context(guard, *mine, op);
  const bool unseen = op.is_optimizer && !hot::on(hot::kOnOperators);
  if (count == 0 && !mine->pending && !unseen) return;
  const SelectedRule choice = selected_rule();
  IterationStart round;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (choice.rule == wire::StepRule::kNone)
      report_iteration(guard, *mine, op, begun[i]);
    else if (counts(choice.rule, begun[i].flags) && begun[i].id() == choice.key)
      round = {true, (begun[i].flags & wire::kMarkLoopEntry) != 0};
  }
  if (round.begins) round.begins = is_counting_thread(guard.tid());
  if (choice.rule == wire::StepRule::kLoop || choice.rule == wire::StepRule::kLoopInferred)
    count_iteration(guard, *mine, op, round, choice.key);
  else
    mine->pending = false;
  if (unseen) report_optimizer(guard, *mine, op);
}

void on_top_level_end(const hot::Guard& guard, std::uint64_t name_id, std::uint64_t ts_ns) {
  if (!hot::on(hot::kOnOpSteps) || g_user_steps.load(std::memory_order_relaxed)) return;
  const SelectedRule choice = selected_rule();
  if (choice.rule == wire::StepRule::kOpEnd && choice.key == name_id)
    hot::step_begin(guard, wire::StepSource::kOptimizer, ts_ns);
}

void on_user_step_begin(const hot::Guard& guard, std::uint64_t k, std::uint64_t ts_ns) {
  if (!hot::on(hot::kOnOpSteps) || !source_is(wire::StepSource::kAuto, wire::StepSource::kUser))
    return;
  g_user_steps.store(true, std::memory_order_relaxed);
  const std::uint64_t number = hot::step_begin(guard, wire::StepSource::kUser, ts_ns, k);
  ThreadLoops* mine = thread_loops_of(guard);
  if (mine == nullptr) return;
  mine->user_step_open = true;
  mine->user_label = k;
  mine->user_number = number;
}

void on_user_step_end(const hot::Guard& guard, std::uint64_t k, std::uint64_t ts_ns) {
  ThreadLoops* mine = thread_loops_of(guard);
  if (mine == nullptr || !mine->user_step_open || mine->user_label != k) return;
  mine->user_step_open = false;
  hot::step_end(guard, wire::StepSource::kUser, mine->user_number, ts_ns);
}

void unmap_thread_loops() {
  ThreadLoops* all = g_threads.exchange(nullptr, std::memory_order_acq_rel);
  if (all != nullptr) munmap(all, kTableBytes);
  g_user_steps.store(false, std::memory_order_relaxed);
}

void reset_loops_after_fork() {
  ThreadLoops* all = g_threads.load(std::memory_order_acquire);
  if (all != nullptr) madvise(all, kTableBytes, MADV_DONTNEED);
  g_user_steps.store(false, std::memory_order_relaxed);
}

}  // namespace gpuprof::torch
