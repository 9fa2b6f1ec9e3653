// SPDX-License-Identifier: Apache-2.0
//
// What is known of the loops of one process: iterations, the operators in them, optimizers.
//
// Context:  daemon (ingest thread)
// Owns:     iterations that may become steps
// Promises: bounded: beyond kMaxIterations the oldest are counted, not kept
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
inline constexpr std::uint32_t kIterationExited = 1u << 17;  // the loop was left after it
inline constexpr std::uint32_t kIterationSeen = 1u << 18;    // some operator in it was reported

/// In LoopDef::flags: what runs inside is no work of the program.
inline constexpr std::uint32_t kLoopIsSetup = 1u << 16;

struct Loop {
  wire::LoopDef def{};
  std::vector<Iteration> iterations;
  std::uint64_t strong = 0, weak = 0;                      // marks, entries are strong
  std::uint64_t discarded_strong = 0, forgotten_weak = 0;  // of them, no longer in `iterations`
  std::uint64_t entries = 0;
  std::uint64_t updates = 0;                // iterations of this entry with an optimizer
  bool one_update_each = true;              // no entry that is over had another number of them
  bool updated = false;                     // this iteration had one
  std::uint64_t first_ns = 0, last_ns = 0;  // begin of its first and of its newest iteration
  std::uint64_t operator_ns = 0;            // of top-level operators inside that compute
  std::uint64_t setup_ns = 0;               // of those that only make or fill tensors
  std::uint64_t op_ns_before = 0;           // of the whole process at its first iteration
  std::uint64_t op_ns_after = 0;            // … at its newest operator
  std::uint64_t last_op_ns = 0;
  std::uint64_t backward = 0;            // nodes of autograd inside
  std::uint64_t graph_replays = 0;       // launches of CUDA graphs inside
  std::uint64_t optimizers = 0;          // that ran inside
  std::uint64_t outside_optimizers = 0;  // … outside, in a thread that had run the loop
  std::uint64_t capture_ns = 0;  // of the newest CUDA graph captured outside, in such a thread

  /// The iteration that the thread is in or was in last; null: none, or many of others since.
  Iteration* newest(std::uint32_t tid);
  /// Iterations of its own count where it has any.
  bool counts_weak() const { return strong == entries; }
  std::uint64_t count() const { return counts_weak() ? strong + weak : strong; }
  bool counts(const Iteration& one) const {
    return counts_weak() || (one.flags & wire::kMarkInferred) == 0 ||
           (one.flags & wire::kMarkLoopEntry) != 0;
  }
  std::uint64_t forgotten() const {
    return counts_weak() ? discarded_strong + forgotten_weak : discarded_strong;
  }
  bool in_module() const { return (def.flags & wire::kLoopInModule) != 0; }
  bool is_setup() const { return (def.flags & kLoopIsSetup) != 0; }
};

/// End of one top-level Optimizer.step range.
struct OptimizerEnd {
  std::uint64_t name_id, begin_ns, end_ns;
  std::uint32_t tid;
};

class LoopRegistry {
 public:
  static constexpr std::size_t kMaxIterations = 1u << 20;
  static constexpr std::size_t kMaxLoops = 16'384, kMaxStacks = 65'536;

  // Records, in the order of their ring buffer.
  void define(const wire::LoopDef& def);
  /// Loops of this code object, reported before or after, have these flags besides their own.
  void add_code_flags(std::uint64_t code_id, std::uint32_t flags);
  void define(const RingInfo& ring, const wire::StackLoops& stack, const Tail& tail);
  void mark(const RingInfo& ring, const wire::LoopMark& mark);
  /// A top-level operator.
  void begin_operator(const RingInfo& ring, const wire::OpBegin& op, OperatorKind kind);
  /// False: of no top-level operator.
  bool end_operator(const RingInfo& ring, const wire::OpEnd& end);
  OperatorKind open_kind(const RingInfo& ring) { return thread(ring).kind; }
  /// An Optimizer.step range, at the top or below. Before begins() of the same.
  void on_optimizer_step(const RingInfo& ring, const wire::OpBegin& op);
  void on_ring_lost(const RingInfo& ring);
  /// No operators are reported while steps are only counted: the thread is where StackLoops said.
  void set_position(const RingInfo& ring);
  /// The thread has launched so many CUDA graphs by then.
  void add_graph_replays(const RingInfo& ring, std::uint64_t ts_ns, std::uint64_t count);
  /// It did something that is no operator.
  void extend_iteration(const RingInfo& ring, std::uint64_t ts_ns);
  /// What the thread launches goes into a CUDA graph, or does no more.
  void set_graph_capture(const RingInfo& ring, bool on) {
    thread(ring).capturing = thread(ring).capture_begins = on;
  }
  /// … and where it stands is where that began.
  void on_graph_captured(const RingInfo& ring, std::uint64_t ts_ns) {
    on_graph_captured(thread(ring), ts_ns);
  }
  bool is_capturing(const RingInfo& ring) { return thread(ring).capturing; }
  /// No operator was reported since the capture began. Where the thread is, the first one says.
  bool capture_begins(const RingInfo& ring) { return thread(ring).capture_begins; }
  void captured_optimizer() { ++captured_optimizers_; }

  const std::map<std::uint64_t, Loop>& loops() const { return loops_; }
  const Loop* find(std::uint64_t id) const;
  /// The same loop for what is only the owner's to change.
  Loop* find(std::uint64_t id);
  /// Loops around the newest optimizer of the thread with most of them, innermost first.
  const std::vector<Loop*>& loops_around_optimizer() const;
  /// Whether some stack has `inner` inside `outer`.
  bool is_inside(const Loop* inner, const Loop* outer) const;
  /// Loops around the newest top-level operator of the ring buffer, innermost first.
  const std::vector<Loop*>& enclosing_loops(const RingInfo& ring) const;
  const std::vector<OptimizerEnd>& optimizer_ends() const { return optimizer_ends_; }
  std::uint64_t optimizers() const { return optimizers_; }
  /// Launches of CUDA graphs: all, and when the first of them was.
  std::uint64_t graph_replays() const { return replays_; }
  std::uint64_t first_replay_ns() const { return first_replay_ns_; }
  /// Optimizers that ran into a graph.
  std::uint64_t captured_optimizers() const { return captured_optimizers_; }
  /// Nodes of autograd: all, and those known to lie in a loop. Not those of a thread of its own.
  std::uint64_t backward() const { return backward_; }
  std::uint64_t backward_in_loops() const { return backward_in_loops_; }
  struct Backward {
    std::uint64_t ts_ns = 0, operator_ns = 0;  // when, and what operator_ns() was
  };
  /// The newest of those in a loop.
  const Backward& last_backward() const { return last_backward_; }
  std::uint64_t operator_ns() const { return op_ns_; }
  /// When the first operator or iteration was reported; 0: none was.
  std::uint64_t first_ns() const { return first_ns_; }
  /// Grows with everything that could change a choice.
  std::uint64_t revision() const { return news_; }

  /// Forgets all iterations and counts, keeps what loops and stacks are.
  void reset_counts();

 private:
  struct Thread {
    std::uint64_t object = 0, begin_ns = 0, name_id = 0;  // of the open top-level operator
    const std::vector<Loop*>* enclosing_loops = nullptr;  // the newest one
    OperatorKind kind = OperatorKind::kOther;
    std::uint64_t place = 0;  // in `stacks_`, of operators without a stack of their own
    std::vector<Loop*> ran;   // whose iterations it began
    std::vector<Loop*> loops_around_optimizer;
    std::uint64_t optimizers = 0;
    bool capturing = false, capture_begins = false;
  };

  Thread& thread(const RingInfo& ring);
  const std::vector<Loop*>& enclosing_loops(const RingInfo& ring, const wire::OpBegin& op);
  bool is_setup(const Thread& owner) const;  // its open operator does
  void on_graph_captured(Thread& owner, std::uint64_t ts_ns);
  Loop* loop(std::uint64_t id);
  void keep(Loop& loop, const Iteration& one);
  void begins_iteration(Loop& loop, const RingInfo& ring, const wire::LoopMark& mark);
  void optimizer_began(std::uint32_t ring);
  void optimizer_inside(Loop& loop, Thread& owner);

  std::map<std::uint64_t, Loop> loops_;
  std::map<std::uint64_t, std::uint32_t> flagged_codes_;
  /// By stack, or by hash of the loops where no stacks are recorded.
  std::unordered_map<std::uint64_t, std::vector<Loop*>> stacks_;
  std::vector<Thread> threads_;      // by ring buffer
  std::uint32_t main_ring_ = 0;      // the newest that reported an iteration
  std::uint32_t training_ring_ = 0;  // the ring buffer with most optimizers
  std::vector<OptimizerEnd> optimizer_ends_;
  std::uint64_t kept_ = 0;
  std::uint64_t optimizers_ = 0, op_ns_ = 0, first_ns_ = 0, news_ = 0;
  std::uint64_t backward_ = 0, backward_in_loops_ = 0;
  std::uint64_t replays_ = 0, first_replay_ns_ = 0, captured_optimizers_ = 0;
  Backward last_backward_;
};

}  // namespace gpuprof::ingest
