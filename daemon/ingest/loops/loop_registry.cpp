// SPDX-License-Identifier: Apache-2.0
//
// Marks and operators added up by loop.
//
// Context:  daemon (ingest thread)
// Owns:     see loop_registry.hpp
#include "daemon/ingest/loops/loop_registry.hpp"

#include <algorithm>

#include "gpuprof/base/bytes.hpp"

namespace gpuprof::ingest {
namespace {

const std::vector<Loop*> kNoLoops;
constexpr std::size_t kMostEnds = 1u << 18;

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

LoopBook::Thread& LoopBook::thread(const Lane& lane) {
  if (lane.index >= threads_.size()) threads_.resize(lane.index + 1);
  return threads_[lane.index];
}

Loop* LoopBook::loop(std::uint64_t id) {
  if (id == 0) return nullptr;
  const auto found = loops_.find(id);
  if (found != loops_.end()) return &found->second;
  if (loops_.size() >= kMostLoops) return nullptr;
  Loop& made = loops_[id];
  made.def.id = id;
  return &made;
}

const Loop* LoopBook::find(std::uint64_t id) const {
  const auto found = loops_.find(id);
  return found == loops_.end() ? nullptr : &found->second;
}

Loop* LoopBook::find(std::uint64_t id) {
  const auto found = loops_.find(id);
  return found == loops_.end() ? nullptr : &found->second;
}

void LoopBook::define(const wire::LoopDef& def) {
  Loop* known = loop(def.id);
  if (known == nullptr) return;
  known->def = def;
  const auto flagged = flagged_codes_.find(def.code_id);
  if (flagged != flagged_codes_.end()) known->def.flags |= flagged->second;
}

void LoopBook::flag_code(std::uint64_t code_id, std::uint32_t flags) {
  if (flagged_codes_.size() >= kMostLoops || !flagged_codes_.emplace(code_id, flags).second) return;
  for (auto& [id, loop] : loops_)
    if (loop.def.code_id == code_id) loop.def.flags |= flags;
}

void LoopBook::define(const Lane& lane, const wire::StackLoops& stack, const Tail& tail) {
  if (stack.count * sizeof(std::uint64_t) > tail.bytes) return;
  std::uint64_t id = stack.stack_id;
  if (id == 0) id = base::hash_bytes(tail.data, stack.count * sizeof(std::uint64_t)) | 1;
  if (stack.stack_id == 0) thread(lane).place = id;
  if (stacks_.size() >= kMostStacks && !stacks_.contains(id)) return;
  std::vector<Loop*> loops;
  for (std::uint32_t i = 0; i < stack.count; ++i)
    if (Loop* one = loop(base::load<std::uint64_t>(tail.data + i * sizeof(std::uint64_t))))
      loops.push_back(one);
  stacks_[id] = std::move(loops);
}

const std::vector<Loop*>& LoopBook::around(const Lane& lane, const wire::OpBegin& op) {
  auto found = stacks_.find(op.stack_id);
  if (found == stacks_.end()) found = stacks_.find(thread(lane).place);
  return found == stacks_.end() ? kNoLoops : found->second;
}

// The oldest half of the longest list goes: what is left is enough to choose by, and the count of
// what went keeps the numbers right.
void LoopBook::keep(Loop& loop, const Iteration& one) {
  if (kept_ >= kMostIterations) {
    Loop& longest =
        std::max_element(loops_.begin(), loops_.end(), [](const auto& a, const auto& b) {
          return a.second.iterations.size() < b.second.iterations.size();
        })->second;
    const std::size_t gone = (longest.iterations.size() + 1) / 2;
    for (std::size_t i = 0; i < gone; ++i) {
      const std::uint32_t flags = longest.iterations[i].flags;
      const bool weak = (flags & wire::kMarkWeak) != 0 && (flags & wire::kMarkFirst) == 0;
      ++(weak ? longest.forgotten_weak : longest.forgotten_strong);
    }
    longest.iterations.erase(longest.iterations.begin(), longest.iterations.begin() + gone);
    kept_ -= gone;
  }
  loop.iterations.push_back(one);
  ++kept_;
}

// Its loops follow, one by one.
void LoopBook::optimizer_began(std::uint32_t lane) {
  Thread& owner = threads_[lane];
  ++news_;
  ++optimizers_;
  ++owner.optimizers;
  owner.around_optimizer.clear();
  for (Loop* one : owner.ran) ++one->missed;
  if (owner.optimizers > threads_[trainer_].optimizers) trainer_ = lane;
}

void LoopBook::optimizer_inside(Loop& loop, Thread& owner) {
  owner.around_optimizer.push_back(&loop);
  if (holds(owner.ran, &loop)) --loop.missed;
  ++loop.optimizers;
  if (!loop.updated) ++loop.updates;
  loop.updated = true;
}

const std::vector<Loop*>& LoopBook::around_optimizer() const {
  return trainer_ < threads_.size() ? threads_[trainer_].around_optimizer : kNoLoops;
}

void LoopBook::begins_iteration(Loop& loop, const Lane& lane, const wire::LoopMark& mark) {
  if (loop.first_ns == 0) {
    loop.first_ns = mark.ts_ns;
    loop.op_ns_before = op_ns_;
    // Of an iteration whose begin was not told.
    loop.op_ns = loop.set_up_ns = loop.optimizers = loop.updates = 0;
  }
  Thread& owner = thread(lane);
  if (!holds(owner.ran, &loop)) owner.ran.push_back(&loop);
  loop.last_ns = mark.ts_ns;
  const bool first = (mark.flags & wire::kMarkFirst) != 0;
  if (first) {
    if (loop.entries != 0 && loop.updates != 1) loop.one_update_each = false;
    ++loop.entries;
    loop.updates = 0;
  }
  loop.updated = false;
  ++((mark.flags & wire::kMarkWeak) != 0 && !first ? loop.weak : loop.strong);
  if (Iteration* left = first ? loop.newest(lane.tid) : nullptr) left->flags |= kIterationLeft;
  keep(loop, Iteration{mark.ts_ns, 0, lane.tid, mark.flags});
}

void LoopBook::mark(const Lane& lane, const wire::LoopMark& mark) {
  Loop* one = loop(mark.loop_id);
  if (one == nullptr) return;
  ++news_;
  if (first_ns_ == 0) first_ns_ = mark.ts_ns;
  main_lane_ = lane.index;
  if ((mark.flags & wire::kMarkOptimizer) == 0) return begins_iteration(*one, lane, mark);
  Thread& owner = thread(lane);
  if ((mark.flags & wire::kMarkFirst) != 0) optimizer_began(lane.index);
  optimizer_inside(*one, owner);
}

void LoopBook::optimizer(const Lane& lane, const wire::OpBegin& op) {
  const bool top = (op.flags & wire::kOpTopLevel) != 0;
  const std::vector<Loop*>* loops = nullptr;
  std::uint32_t owner = lane.index;
  if (top) {
    loops = &around(lane, op);
  } else {
    // Below another operator, or in a thread of the engine: the iteration that runs is its own.
    loops = thread(lane).around;
    if (loops == nullptr || loops->empty()) {
      owner = main_lane_;
      loops = thread(Lane{main_lane_, 0, 0}).around;
    }
  }
  thread(lane);  // makes room
  optimizer_began(owner);
  for (Loop* one : loops != nullptr ? *loops : kNoLoops) optimizer_inside(*one, threads_[owner]);
}

void LoopBook::begins(const Lane& lane, const wire::OpBegin& op, OpKind kind) {
  Thread& owner = thread(lane);
  const std::vector<Loop*>* around = &this->around(lane, op);
  if (first_ns_ == 0) first_ns_ = op.ts_ns;
  if (owner.around != around && owner.around != nullptr)
    for (Loop* one : *owner.around)
      if (Iteration* left = holds(*around, one) ? nullptr : one->newest(lane.tid)) {
        left->flags |= kIterationLeft;
        left->left_ns = op.ts_ns;
      }
  owner.around = around;
  owner.object = op.object;
  owner.begin_ns = op.ts_ns;
  owner.name_id = op.name_id;
  owner.kind = kind;
  if (kind == OpKind::kBackward) {
    ++backward_;
    if (!around->empty()) {
      ++backward_in_loops_;
      last_backward_ = {op.ts_ns, op_ns_};
    }
    for (Loop* one : *around) ++one->backward;
  }
  if (owner.capture_begins) captured(owner, op.ts_ns);
  const std::uint32_t flags = kIterationSeen | (kind == OpKind::kLoader ? 0 : kIterationWorked);
  for (Loop* one : *around)
    if (Iteration* now = one->newest(lane.tid)) {
      now->flags = (now->flags | flags) & ~kIterationLeft;
      now->left_ns = 0;
      now->last = op.stack_id;
      if (now->first == 0) now->first = op.stack_id;
    }
}

void LoopBook::captured(Thread& owner, std::uint64_t ts_ns) {
  owner.capture_begins = false;
  for (Loop* one : owner.ran)
    if (!holds(*owner.around, one)) one->capture_ns = ts_ns;
}

bool LoopBook::sets_up(const Thread& owner) const {
  if (owner.kind == OpKind::kSetUp) return true;
  return !flagged_codes_.empty() && std::any_of(owner.around->begin(), owner.around->end(),
                                                [](const Loop* one) { return one->sets_up(); });
}

bool LoopBook::ends(const Lane& lane, const wire::OpEnd& end) {
  Thread& owner = thread(lane);
  if (owner.object == 0 || owner.object != end.object || end.ts_ns < owner.begin_ns) return false;
  const std::uint64_t took_ns = end.ts_ns - owner.begin_ns;
  const bool set_up = sets_up(owner), counts = owner.kind != OpKind::kMove;
  // What a program is about is not to build and load models, and both may take long.
  if (counts && !set_up) op_ns_ += took_ns;
  ++news_;
  for (Loop* one : *owner.around) {
    if (counts) (set_up ? one->set_up_ns : one->op_ns) += took_ns;
    one->op_ns_after = op_ns_;
    one->last_op_ns = end.ts_ns;
    if (Iteration* now = one->newest(lane.tid)) now->end_ns = end.ts_ns;
  }
  if (owner.kind == OpKind::kOptimizer && optimizer_ends_.size() < kMostEnds)
    optimizer_ends_.push_back({owner.name_id, owner.begin_ns, end.ts_ns, lane.tid});
  owner.object = 0;
  return true;
}

void LoopBook::lane_lost(const Lane& lane) { thread(lane).object = thread(lane).place = 0; }

void LoopBook::stands(const Lane& lane) {
  Thread& owner = thread(lane);
  const auto found = stacks_.find(owner.place);
  owner.around = found == stacks_.end() ? &kNoLoops : &found->second;
}

// Between two operators, or in one: that of the newest one is where the thread is.
void LoopBook::replays(const Lane& lane, std::uint64_t ts_ns, std::uint64_t count) {
  const Thread& owner = thread(lane);
  ++news_;
  if (replays_ == 0) first_replay_ns_ = ts_ns;
  replays_ += count;
  if (owner.around == nullptr) return;
  for (Loop* one : *owner.around) {
    one->replays += count;
    one->last_op_ns = std::max(one->last_op_ns, ts_ns);
  }
}

void LoopBook::works_until(const Lane& lane, std::uint64_t ts_ns) {
  for (Loop* one : around(lane))
    if (Iteration* now = one->newest(lane.tid)) now->end_ns = std::max(now->end_ns, ts_ns);
}

const std::vector<Loop*>& LoopBook::around(const Lane& lane) const {
  if (lane.index >= threads_.size() || threads_[lane.index].around == nullptr) return kNoLoops;
  return *threads_[lane.index].around;
}

bool LoopBook::inside(const Loop* inner, const Loop* outer) const {
  return std::any_of(stacks_.begin(), stacks_.end(), [&](const auto& stack) {
    const auto& loops = stack.second;
    const auto at = std::find(loops.begin(), loops.end(), inner);
    return at != loops.end() && std::find(at, loops.end(), outer) != loops.end();
  });
}

void LoopBook::start_over() {
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
  trainer_ = 0;
  for (Thread& one : threads_) {
    one.ran.clear();
    one.around_optimizer.clear();
    one.optimizers = 0;
  }
  optimizer_ends_.clear();
}

}  // namespace gpuprof::ingest
