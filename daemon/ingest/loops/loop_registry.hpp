// SPDX-License-Identifier: Apache-2.0
//
// What is known of the loops of one process: iterations, the operators in them, optimizers.
//
// Context:  daemon (ingest thread)
// Owns:     iterations that may become steps
// Promises: bounded: beyond kMostIterations the oldest are counted, not kept
// Not here: which loop is the step (step_rules.hpp)
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "daemon/ingest/decode/decoder.hpp"
#include "daemon/ingest/loops/operator_kinds.hpp"
#include "gpuprof/wire/records.hpp"

namespace gpuprof::ingest {

struct Iteration {
  std::uint64_t begin_ns;
  std::uint64_t end_ns;  // of its last operator; 0: none has ended
  std::uint32_t tid;
  std::uint32_t flags;        // wire::kMark…, kIteration…
  std::uint64_t left_ns = 0;  // first operator outside of the loop after it, if it was left so
  std::uint64_t first = 0, last = 0;  // stacks of its first and its last operator
};
inline constexpr std::uint32_t kIterationWorked = 1u << 16;  // more than the loader's __next__
inline constexpr std::uint32_t kIterationLeft = 1u << 17;    // the loop was left after it
inline constexpr std::uint32_t kIterationSeen = 1u << 18;    // some operator was told of

/// In LoopDef::flags: what runs inside is no work of the program.
inline constexpr std::uint32_t kLoopSetsUp = 1u << 16;

struct Loop {
  wire::LoopDef def{};
  std::vector<Iteration> iterations;
  std::uint64_t strong = 0, weak = 0;                      // marks, entries are strong
  std::uint64_t forgotten_strong = 0, forgotten_weak = 0;  // of them, no longer in `iterations`
  std::uint64_t entries = 0;
  std::uint64_t updates = 0;                // iterations of this entry with an optimizer
  bool one_update_each = true;              // no entry that is over had another number of them
  bool updated = false;                     // this iteration had one
  std::uint64_t first_ns = 0, last_ns = 0;  // begin of its first and of its newest iteration
  std::uint64_t op_ns = 0;                  // of top-level operators inside that compute
  std::uint64_t set_up_ns = 0;              // of those that only make or fill tensors
  std::uint64_t op_ns_before = 0;           // of the whole process at its first iteration
  std::uint64_t op_ns_after = 0;            // … at its newest operator
  std::uint64_t last_op_ns = 0;
  std::uint64_t backward = 0;    // nodes of autograd inside
  std::uint64_t replays = 0;     // launches of CUDA graphs inside
  std::uint64_t optimizers = 0;  // that ran inside
  std::uint64_t missed = 0;      // … outside, in a thread that had run the loop
  std::uint64_t capture_ns = 0;  // of the newest CUDA graph captured outside, in such a thread

  /// The iteration that the thread is in or was in last; null: none, or many of others since.
  Iteration* newest(std::uint32_t tid);
  /// Iterations of its own count where it has any.
  bool counts_weak() const { return strong == entries; }
  std::uint64_t count() const { return counts_weak() ? strong + weak : strong; }
  bool counts(const Iteration& one) const {
    return counts_weak() || (one.flags & wire::kMarkWeak) == 0 ||
           (one.flags & wire::kMarkFirst) != 0;
  }
  std::uint64_t forgotten() const {
    return counts_weak() ? forgotten_strong + forgotten_weak : forgotten_strong;
  }
  bool in_module() const { return (def.flags & wire::kLoopInModule) != 0; }
  bool sets_up() const { return (def.flags & kLoopSetsUp) != 0; }
};

/// End of one top-level Optimizer.step range.
struct OptimizerEnd {
  std::uint64_t name_id, begin_ns, end_ns;
  std::uint32_t tid;
};

class LoopBook {
 public:
  static constexpr std::size_t kMostIterations = 1u << 20;
  static constexpr std::size_t kMostLoops = 16'384, kMostStacks = 65'536;

  // Records, in the order of their lane.
  void define(const wire::LoopDef& def);
  /// Loops of this code object, told of before or after, have these flags besides their own.
  void flag_code(std::uint64_t code_id, std::uint32_t flags);
  void define(const Lane& lane, const wire::StackLoops& stack, const Tail& tail);
  void mark(const Lane& lane, const wire::LoopMark& mark);
  /// A top-level operator.
  void begins(const Lane& lane, const wire::OpBegin& op, OpKind kind);
  /// False: of no top-level operator.
  bool ends(const Lane& lane, const wire::OpEnd& end);
  OpKind open_kind(const Lane& lane) { return thread(lane).kind; }
  /// An Optimizer.step range, at the top or below. Before begins() of the same.
  void optimizer(const Lane& lane, const wire::OpBegin& op);
  void lane_lost(const Lane& lane);
  /// No operators are told of while steps are only counted: the thread is where StackLoops said.
  void stands(const Lane& lane);
  /// The thread has launched so many CUDA graphs by then.
  void replays(const Lane& lane, std::uint64_t ts_ns, std::uint64_t count);
  /// It did something that is no operator.
  void works_until(const Lane& lane, std::uint64_t ts_ns);
  /// What the thread launches goes into a CUDA graph, or does no more.
  void captures(const Lane& lane, bool on) {
    thread(lane).capturing = thread(lane).capture_begins = on;
  }
  /// … and where it stands is where that began.
  void captured(const Lane& lane, std::uint64_t ts_ns) { captured(thread(lane), ts_ns); }
  bool is_capturing(const Lane& lane) { return thread(lane).capturing; }
  /// No operator was told of since the capture began. Where the thread is, the first one says.
  bool capture_begins(const Lane& lane) { return thread(lane).capture_begins; }
  void captured_optimizer() { ++captured_optimizers_; }

  const std::map<std::uint64_t, Loop>& loops() const { return loops_; }
  const Loop* find(std::uint64_t id) const;
  /// The same loop for what is only the owner's to change.
  Loop* find(std::uint64_t id);
  /// Loops around the newest optimizer of the thread with most of them, innermost first.
  const std::vector<Loop*>& around_optimizer() const;
  /// Whether some stack has `inner` inside `outer`.
  bool inside(const Loop* inner, const Loop* outer) const;
  /// Loops around the newest top-level operator of the lane, innermost first.
  const std::vector<Loop*>& around(const Lane& lane) const;
  const std::vector<OptimizerEnd>& optimizer_ends() const { return optimizer_ends_; }
  std::uint64_t optimizers() const { return optimizers_; }
  /// Launches of CUDA graphs: all, and when the first of them was.
  std::uint64_t replays() const { return replays_; }
  std::uint64_t first_replay_ns() const { return first_replay_ns_; }
  /// Optimizers that ran into a graph.
  std::uint64_t captured_optimizers() const { return captured_optimizers_; }
  /// Nodes of autograd: all, and those known to lie in a loop. Not those of a thread of its own.
  std::uint64_t backward() const { return backward_; }
  std::uint64_t backward_in_loops() const { return backward_in_loops_; }
  struct Backward {
    std::uint64_t ts_ns = 0, op_ns = 0;  // when, and what op_ns() was
  };
  /// The newest of those in a loop.
  const Backward& last_backward() const { return last_backward_; }
  std::uint64_t op_ns() const { return op_ns_; }
  /// When the first operator or iteration was told of; 0: none was.
  std::uint64_t first_ns() const { return first_ns_; }
  /// Grows with everything that could change a choice.
  std::uint64_t news() const { return news_; }

  /// Forgets all iterations and counts, keeps what loops and stacks are.
  void start_over();

 private:
  struct Thread {
    std::uint64_t object = 0, begin_ns = 0, name_id = 0;  // of the open top-level operator
    const std::vector<Loop*>* around = nullptr;           // the newest one
    OpKind kind = OpKind::kOther;
    std::uint64_t place = 0;  // in `stacks_`, of operators without a stack of their own
    std::vector<Loop*> ran;   // whose iterations it began
    std::vector<Loop*> around_optimizer;
    std::uint64_t optimizers = 0;
    bool capturing = false, capture_begins = false;
  };

  Thread& thread(const Lane& lane);
  const std::vector<Loop*>& around(const Lane& lane, const wire::OpBegin& op);
  bool sets_up(const Thread& owner) const;  // its open operator does
  void captured(Thread& owner, std::uint64_t ts_ns);
  Loop* loop(std::uint64_t id);
  void keep(Loop& loop, const Iteration& one);
  void begins_iteration(Loop& loop, const Lane& lane, const wire::LoopMark& mark);
  void optimizer_began(std::uint32_t lane);
  void optimizer_inside(Loop& loop, Thread& owner);

  std::map<std::uint64_t, Loop> loops_;
  std::map<std::uint64_t, std::uint32_t> flagged_codes_;
  /// By stack, or by hash of the loops where no stacks are recorded.
  std::unordered_map<std::uint64_t, std::vector<Loop*>> stacks_;
  std::vector<Thread> threads_;  // by lane
  std::uint32_t main_lane_ = 0;  // the newest that told of an iteration
  std::uint32_t trainer_ = 0;    // the lane with most optimizers
  std::vector<OptimizerEnd> optimizer_ends_;
  std::uint64_t kept_ = 0;
  std::uint64_t optimizers_ = 0, op_ns_ = 0, first_ns_ = 0, news_ = 0;
  std::uint64_t backward_ = 0, backward_in_loops_ = 0;
  std::uint64_t replays_ = 0, first_replay_ns_ = 0, captured_optimizers_ = 0;
  Backward last_backward_;
};

}  // namespace gpuprof::ingest
