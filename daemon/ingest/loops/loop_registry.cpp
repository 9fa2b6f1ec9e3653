// SPDX-License-Identifier: Apache-2.0
//
// Marks and operators added up by loop.
//
// Context:  daemon (ingest thread)
#include "daemon/ingest/loops/loop_registry.hpp"

#include <algorithm>

#include "gpuprof/base/bytes.hpp"

namespace gpuprof::ingest {
namespace {

const std::vector<Loop*> kNoLoops;
constexpr std::size_t kMaxEnds = 1u << 18;

bool holds(const std::vector<Loop*>& loops, const Loop* one) {
  return std::find(loops.begin(), loops.end(), one) != loops.end();
}

}  // namespace

Iteration* Loop::newest(std::uint32_t tid) {
  constexpr std::size_t kFar = 64;
  for (std::size_t back = 1; back <= std::min(iterations.size(), kFar); ++back) {
    Iteration& one = iterations[iterations.size() - back];
    if (one.tid == tid) return &one;
  }
  return nullptr;
}

LoopRegistry::Thread& LoopRegistry::thread(const RingInfo& ring) {
  if (ring.index >= threads_.size()) threads_.resize(ring.index + 1);
  return threads_[ring.index];
}

Loop* LoopRegistry::loop(std::uint64_t id) {
  if (id == 0) return nullptr;
  const auto found = loops_.find(id);
  if (found != loops_.end()) return &found->second;
  if (loops_.size() >= kMaxLoops) return nullptr;
  Loop& made = loops_[id];
  made.def.id = id;
  return &made;
}

const Loop* LoopRegistry::find(std::uint64_t id) const {
  const auto found = loops_.find(id);
  return found == loops_.end() ? nullptr : &found->second;
}

Loop* LoopRegistry::find(std::uint64_t id) {
  const auto found = loops_.find(id);
  return found == loops_.end() ? nullptr : &found->second;
}

void LoopRegistry::define(const wire::LoopDef& def) {
  Loop* known = loop(def.id);
  if (known == nullptr) return;
  known->def = def;
  const auto flagged = flagged_codes_.find(def.code_id);
  if (flagged != flagged_codes_.end()) known->def.flags |= flagged->second;
}

void LoopRegistry::add_code_flags(std::uint64_t code_id, std::uint32_t flags) {
  if (flagged_codes_.size() >= kMaxLoops || !flagged_codes_.emplace(code_id, flags).second) return;
  for (auto& [id, loop] : loops_)
    if (loop.def.code_id == code_id) loop.def.flags |= flags;
}

void LoopRegistry::define(const RingInfo& ring, const wire::StackLoops& stack, const Tail& tail) {
  if (stack.count * sizeof(std::uint64_t) > tail.bytes) return;
  std::uint64_t id = stack.stack_id;
  if (id == 0) id = base::hash_bytes(tail.data, stack.count * sizeof(std::uint64_t)) | 1;
  if (stack.stack_id == 0) thread(ring).place = id;
  if (stacks_.size() >= kMaxStacks && !stacks_.contains(id)) return;
  std::vector<Loop*> loops;
  for (std::uint32_t i = 0; i < stack.count; ++i)
    if (Loop* one = loop(base::load<std::uint64_t>(tail.data + i * sizeof(std::uint64_t))))
      loops.push_back(one);
  stacks_[id] = std::move(loops);
}

const std::vector<Loop*>& LoopRegistry::enclosing_loops(const RingInfo& ring,
                                                        const wire::OpBegin& op) {
  auto found = stacks_.find(op.stack_id);
  if (found == stacks_.end()) found = stacks_.find(thread(ring).place);
  return found == stacks_.end() ? kNoLoops : found->second;
}

// The oldest half of the longest list goes: what is left is enough to choose by, and the count of
// what went keeps the numbers right.
void LoopRegistry::keep(Loop& loop, const Iteration& one) {
  if (kept_ >= kMaxIterations) {
    Loop& longest =
        std::max_element(loops_.begin(), loops_.end(), [](const auto& a, const auto& b) {
          return a.second.iterations.size() < b.second.iterations.size();
        })->second;
    const std::size_t gone = (longest.iterations.size() + 1) / 2;
    for (std::size_t i = 0; i < gone; ++i) {
      const std::uint32_t flags = longest.iterations[i].flags;
      const bool weak = (flags & wire::kMarkInferred) != 0 && (flags & wire::kMarkLoopEntry) == 0;
      ++(weak ? longest.forgotten_weak : longest.discarded_strong);
    }
    longest.iterations.erase(longest.iterations.begin(), longest.iterations.begin() + gone);
    kept_ -= gone;
  }
  loop.iterations.push_back(one);
  ++kept_;
}

// Its loops follow, one by one.
void LoopRegistry::optimizer_began(std::uint32_t ring) {
  Thread& owner = threads_[ring];
  ++news_;
  ++optimizers_;
  ++owner.optimizers;
  owner.loops_around_optimizer.clear();
  for (Loop* one : owner.ran) ++one->outside_optimizers;
  if (owner.optimizers > threads_[training_ring_].optimizers) training_ring_ = ring;
}

void LoopRegistry::optimizer_inside(Loop& loop, Thread& owner) {
  owner.loops_around_optimizer.push_back(&loop);
  if (holds(owner.ran, &loop)) --loop.outside_optimizers;
  ++loop.optimizers;
  if (!loop.updated) ++loop.updates;
  loop.updated = true;
}

const std::vector<Loop*>& LoopRegistry::loops_around_optimizer() const {
  return training_ring_ < threads_.size() ? threads_[training_ring_].loops_around_optimizer
                                          : kNoLoops;
}

void LoopRegistry::begins_iteration(Loop& loop, const RingInfo& ring, const wire::LoopMark& mark) {
  if (loop.first_ns == 0) {
    loop.first_ns = mark.ts_ns;
    loop.op_ns_before = op_ns_;
    // Of an iteration whose begin was not told.
    loop.operator_ns = loop.setup_ns = loop.optimizers = loop.updates = 0;
  }
  Thread& owner = thread(ring);
  if (!holds(owner.ran, &loop)) owner.ran.push_back(&loop);
  loop.last_ns = mark.ts_ns;
  const bool first = (mark.flags & wire::kMarkLoopEntry) != 0;
  if (first) {
    if (loop.entries != 0 && loop.updates != 1) loop.one_update_each = false;
    ++loop.entries;
    loop.updates = 0;
  }
  loop.updated = false;
  ++((mark.flags & wire::kMarkInferred) != 0 && !first ? loop.weak : loop.strong);
  if (Iteration* left = first ? loop.newest(ring.tid) : nullptr) left->flags |= kIterationExited;
  keep(loop, Iteration{mark.ts_ns, 0, ring.tid, mark.flags});
}

void LoopRegistry::mark(const RingInfo& ring, const wire::LoopMark& mark) {
  Loop* one = loop(mark.loop_id);
  if (one == nullptr) return;
  ++news_;
  if (first_ns_ == 0) first_ns_ = mark.ts_ns;
  main_ring_ = ring.index;
  if ((mark.flags & wire::kMarkOptimizer) == 0) return begins_iteration(*one, ring, mark);
  Thread& owner = thread(ring);
  if ((mark.flags & wire::kMarkLoopEntry) != 0) optimizer_began(ring.index);
  optimizer_inside(*one, owner);
}

void LoopRegistry::on_optimizer_step(const RingInfo& ring, const wire::OpBegin& op) {
  const bool top = (op.flags & wire::kOpTopLevel) != 0;
  const std::vector<Loop*>* loops = nullptr;
  std::uint32_t owner = ring.index;
  if (top) {
    loops = &enclosing_loops(ring, op);
  } else {
    // Below another operator, or in a thread of the engine: the iteration that runs is its own.
    loops = thread(ring).enclosing_loops;
    if (loops == nullptr || loops->empty()) {
      owner = main_ring_;
      loops = thread(RingInfo{main_ring_, 0, 0}).enclosing_loops;
    }
  }
  thread(ring);  // makes room
  optimizer_began(owner);
  for (Loop* one : loops != nullptr ? *loops : kNoLoops) optimizer_inside(*one, threads_[owner]);
}

void LoopRegistry::begin_operator(const RingInfo& ring, const wire::OpBegin& op,
                                  OperatorKind kind) {
  Thread& owner = thread(ring);
  const std::vector<Loop*>* enclosing_loops = &this->enclosing_loops(ring, op);
  if (first_ns_ == 0) first_ns_ = op.ts_ns;
  if (owner.enclosing_loops != enclosing_loops && owner.enclosing_loops != nullptr)
    for (Loop* one : *owner.enclosing_loops)
      if (Iteration* left = holds(*enclosing_loops, one) ? nullptr : one->newest(ring.tid)) {
        left->flags |= kIterationExited;
        left->left_ns = op.ts_ns;
      }
  owner.enclosing_loops = enclosing_loops;
  owner.object = op.object;
  owner.begin_ns = op.ts_ns;
  owner.name_id = op.name_id;
  owner.kind = kind;
  if (kind == OperatorKind::kBackward) {
    ++backward_;
    if (!enclosing_loops->empty()) {
      ++backward_in_loops_;
      last_backward_ = {op.ts_ns, op_ns_};
    }
    for (Loop* one : *enclosing_loops) ++one->backward;
  }
  if (owner.capture_begins) on_graph_captured(owner, op.ts_ns);
  const std::uint32_t flags =
      kIterationSeen | (kind == OperatorKind::kLoader ? 0 : kIterationWorked);
  for (Loop* one : *enclosing_loops)
    if (Iteration* now = one->newest(ring.tid)) {
      now->flags = (now->flags | flags) & ~kIterationExited;
      now->left_ns = 0;
      now->last = op.stack_id;
      if (now->first == 0) now->first = op.stack_id;
    }
}

void LoopRegistry::on_graph_captured(Thread& owner, std::uint64_t ts_ns) {
  owner.capture_begins = false;
  for (Loop* one : owner.ran)
    if (!holds(*owner.enclosing_loops, one)) one->capture_ns = ts_ns;
}

bool LoopRegistry::is_setup(const Thread& owner) const {
  if (owner.kind == OperatorKind::kSetUp) return true;
  return !flagged_codes_.empty() &&
         std::any_of(owner.enclosing_loops->begin(), owner.enclosing_loops->end(),
                     [](const Loop* one) { return one->is_setup(); });
}

bool LoopRegistry::end_operator(const RingInfo& ring, const wire::OpEnd& end) {
  Thread& owner = thread(ring);
  if (owner.object == 0 || owner.object != end.object || end.ts_ns < owner.begin_ns) return false;
  const std::uint64_t took_ns = end.ts_ns - owner.begin_ns;
  const bool set_up = is_setup(owner), counts = owner.kind != OperatorKind::kTransfer;
  // What a program is about is not to build and load models, and both may take long.
  if (counts && !set_up) op_ns_ += took_ns;
  ++news_;
  for (Loop* one : *owner.enclosing_loops) {
    if (counts) (set_up ? one->setup_ns : one->operator_ns) += took_ns;
    one->op_ns_after = op_ns_;
    one->last_op_ns = end.ts_ns;
    if (Iteration* now = one->newest(ring.tid)) now->end_ns = end.ts_ns;
  }
  if (owner.kind == OperatorKind::kOptimizer && optimizer_ends_.size() < kMaxEnds)
    optimizer_ends_.push_back({owner.name_id, owner.begin_ns, end.ts_ns, ring.tid});
  owner.object = 0;
  return true;
}

void LoopRegistry::on_ring_lost(const RingInfo& ring) {
  thread(ring).object = thread(ring).place = 0;
}

void LoopRegistry::set_position(const RingInfo& ring) {
  Thread& owner = thread(ring);
  const auto found = stacks_.find(owner.place);
  owner.enclosing_loops = found == stacks_.end() ? &kNoLoops : &found->second;
}

// Between two operators, or in one: that of the newest one is where the thread is.
void LoopRegistry::add_graph_replays(const RingInfo& ring, std::uint64_t ts_ns,
                                     std::uint64_t count) {
  const Thread& owner = thread(ring);
  ++news_;
  if (replays_ == 0) first_replay_ns_ = ts_ns;
  replays_ += count;
  if (owner.enclosing_loops == nullptr) return;
  for (Loop* one : *owner.enclosing_loops) {
    one->graph_replays += count;
    one->last_op_ns = std::max(one->last_op_ns, ts_ns);
  }
}

void LoopRegistry::extend_iteration(const RingInfo& ring, std::uint64_t ts_ns) {
  for (Loop* one : enclosing_loops(ring))
    if (Iteration* now = one->newest(ring.tid)) now->end_ns = std::max(now->end_ns, ts_ns);
}

const std::vector<Loop*>& LoopRegistry::enclosing_loops(const RingInfo& ring) const {
  if (ring.index >= threads_.size() || threads_[ring.index].enclosing_loops == nullptr)
    return kNoLoops;
  return *threads_[ring.index].enclosing_loops;
}

bool LoopRegistry::is_inside(const Loop* inner, const Loop* outer) const {
  return std::any_of(stacks_.begin(), stacks_.end(), [&](const auto& stack) {
    const auto& loops = stack.second;
    const auto at = std::find(loops.begin(), loops.end(), inner);
    return at != loops.end() && std::find(at, loops.end(), outer) != loops.end();
  });
}

void LoopRegistry::reset_counts() {
  for (auto& [id, loop] : loops_) {
    const wire::LoopDef def = loop.def;
    loop = Loop{};
    loop.def = def;
  }
  kept_ = 0;
  optimizers_ = op_ns_ = backward_ = backward_in_loops_ = 0;
  // That optimizers were captured holds for all replays to come.
  replays_ = first_replay_ns_ = 0;
  last_backward_ = {};
  training_ring_ = 0;
  for (Thread& one : threads_) {
    one.ran.clear();
    one.loops_around_optimizer.clear();
    one.optimizers = 0;
  }
  optimizer_ends_.clear();
}

}  // namespace gpuprof::ingest
