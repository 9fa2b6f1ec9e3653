// SPDX-License-Identifier: Apache-2.0
//
// The rule, as docs/steps.md tells it.
//
// Context:  callback
// Owns:     nothing
#include "inject/torch/loops/iterations.hpp"

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/wire/records.hpp"

namespace gpuprof::torch {

std::uint64_t ActiveLoop::id() const {
  std::uint64_t id = base::hash_step(0x6c6f6f70u, code->id);
  id = base::hash_step(id, depth);
  id = base::hash_step(id, static_cast<std::uint32_t>(span.target));
  return id == 0 ? 1 : id;
}

/// One operator against the one before it.
class Iterations::Comparison {
 public:
  Comparison(Iterations& was, const TopLevelOp& op, const FrameProbes& look, ActiveLoop* begun)
      : was_(was), op_(op), look_(look), begun_(begun) {}

  std::uint32_t run() {
    std::uint32_t level = 0;
    // From outside in, up to the first frame that ran since.
    while (level < was_.count_ && level < op_.frame_count && same_frame(level) && !ran(level))
      ++level;
    if (level == op_.frame_count && level == was_.count_) {
      if (op_.name_id == was_.first_name_ && !op_.is_autograd_engine) repeat(level);
      return count_;
    }
    was_.first_name_ = op_.name_id;
    const bool ran = level < op_.frame_count && level < was_.count_ && same_frame(level);
    const std::uint32_t first_new = ran ? level + 1 : level;
    for (std::uint32_t i = first_new; i < was_.count_; ++i) was_.pause(was_.levels_[i]);
    if (!ran) repeat(level);
    for (std::uint32_t i = first_new; i < op_.frame_count; ++i) enter(i);
    was_.count_ = op_.frame_count;
    return count_;
  }

 private:
  const python::FastFrame& frame(std::uint32_t level) const {
    return op_.frames[op_.frame_count - 1 - level];
  }
  bool same_frame(std::uint32_t level) const {
    const Level& was = was_.levels_[level];
    return was.frame == frame(level).frame && was.code == frame(level).code &&
           was.code_id == frame(level).code_id;
  }

  void begin(std::uint32_t level, std::uint32_t flags, const python::CodeLoops* code,
             std::int32_t loop) {
    const std::uint32_t depth = was_.levels_[level].depth;
    if (count_ < kMaxLoops)
      begun_[count_++] = ActiveLoop{level, depth, flags, code, code->spans[loop]};
  }
  /// Loops that hold `now` and, from the loop `inside` on, were not there before; without `inside`
  /// (-1), those that do not hold `before`.
  void enter_loops(std::uint32_t level, const python::CodeLoops* code, std::int32_t now,
                   std::int32_t before, std::int32_t inside) {
    for (std::int32_t i = 0; i < code->count; ++i)
      if (code->spans[i].holds(now) &&
          (!code->spans[i].holds(before) || (inside >= 0 && i >= inside)))
        begin(level, wire::kMarkLoopEntry, code, i);
  }
  /// Remembers what the frame holds while it is in a loop.
  void keep_state(std::uint32_t level, const python::CodeLoops* code) {
    Level& was = was_.levels_[level];
    std::uint32_t iterators = 0;
    was.in_loop = false;
    for (std::int32_t i = 0; i < code->count; ++i)
      if (code->spans[i].holds(was.at)) {
        was.in_loop = true;
        iterators += code->spans[i].iterates() ? 1 : 0;
      }
    if (was.in_loop) look_.state(frame(level), iterators, &was.state);
  }

  /// Frames from `end` on are new though those outside stand where they stood. The innermost loop
  /// around them went round, unless C code called twice (`map`, `sorted`): a mark is strong where
  /// byte code made the call, or stored a global variable before it.
  void repeat(std::uint32_t end) {
    bool by_code = true;
    for (std::uint32_t level = end; level-- > 0;) {
      by_code = by_code && level + 1 < op_.frame_count && frame(level + 1).code != 0 &&
                (frame(level + 1).flags & (wire::kPyEntry | wire::kPyShim)) == 0;
      if (!was_.levels_[level].in_loop) continue;
      const python::CodeLoops* code = was_.levels_[level].loops;
      const std::int32_t at = was_.levels_[level].at;
      const std::int32_t loop = code->innermost(at, at);
      if (loop < 0) continue;
      // Code that was called may store globals, too: by itself that says nothing.
      const bool ran = by_code || was_.levels_[level].stored;
      begin(level, ran ? 0 : wire::kMarkInferred, code, loop);
      return;
    }
  }

  /// What the iterators of a frame tell about its loops.
  struct IteratorChange {
    std::int32_t round = -1;  // this loop went round
    std::int32_t fresh = -1;  // this one was entered again, with another iterator
  };
  IteratorChange iterators(const python::CodeLoops* code, std::int32_t now, std::int32_t before,
                           const python::LoopState& was, const python::LoopState& is) const {
    std::uint32_t slot = 0;
    for (std::int32_t i = 0, outer = -1; i < code->count; ++i) {
      const python::LoopSpan& span = code->spans[i];
      if (!span.holds(now) || !span.holds(before)) continue;
      if (span.iterates() && slot < python::kMaxIterators) {
        if (was.iterators[slot].address != is.iterators[slot].address) return {outer, i};
        // An operator at the head is one of the iterator's own, which has not moved on yet.
        if (before >= span.body && was.iterators[slot].content != is.iterators[slot].content)
          return {i, -1};
        ++slot;
      }
      outer = i;
    }
    return {};
  }

  /// Whether the frame at `level` ran since the last operator; tells what went round in it.
  bool ran(std::uint32_t level) {
    Level& was = was_.levels_[level];
    const std::int32_t actual = frame(level).instr_offset;
    const bool moved = was.actual_at != actual;
    if (!moved && !was.in_loop) return false;
    const Level before = was;
    // Another code object may be where the last one was, and its frame, too.
    const python::CodeLoops* code = moved ? look_.loops(frame(level).code) : was.loops;
    was.loops = code;
    was.actual_at = was.at = actual;
    was.in_loop = was.stored = false;
    if (code == nullptr) {
      if (actual < before.at) repeat(level);
      return moved;
    }
    // Handlers lie behind the loop that their `try` is in.
    const bool handles = actual >= code->handlers && code->innermost(actual, actual) < 0;
    if (handles || (!moved && before.at != before.actual_at)) was.at = before.at;
    keep_state(level, code);
    was.stored = was.in_loop && before.in_loop && was.state.globals != before.state.globals;
    if (handles) return moved;
    return compare(level, code, before, moved);
  }
  bool compare(std::uint32_t level, const python::CodeLoops* code, const Level& before,
               bool moved) {
    const Level& is = was_.levels_[level];
    IteratorChange reported;
    if (is.in_loop && before.in_loop)
      reported = iterators(code, is.at, before.at, before.state, is.state);
    const bool locals = before.in_loop && is.state.locals != before.state.locals;
    std::int32_t round = reported.round;
    if (round < 0 && reported.fresh < 0 && (moved ? is.at <= before.at : locals))
      round = code->innermost(is.at, before.at);
    if (round >= 0)
      begin(level, 0, code, round);
    else if (reported.fresh >= 0 || (moved && is.at < before.at))
      repeat(level);
    else if (!moved)
      return false;
    enter_loops(level, code, is.at, before.at,
                reported.fresh >= 0 ? reported.fresh
                : round >= 0        ? round + 1
                                    : -1);
    return true;
  }

  static std::uint32_t depth_inside(const Level& outer) {
    const bool inserted = outer.loops != nullptr && outer.loops->inserted;
    return outer.depth + (outer.code != 0 && !inserted ? 1 : 0);
  }
  /// The frame at `level` was not there before.
  void enter(std::uint32_t level) {
    const python::FastFrame& now = frame(level);
    const python::CodeLoops* code = look_.loops(now.code);
    Level& level_is = was_.levels_[level];
    level_is.frame = now.frame;
    level_is.code = now.code;
    level_is.code_id = now.code_id;
    level_is.depth = level == 0 ? 0 : depth_inside(was_.levels_[level - 1]);
    level_is.at = level_is.actual_at = now.instr_offset;
    level_is.in_loop = level_is.stored = false;
    level_is.loops = code;
    level_is.yields = code != nullptr && code->yields;
    if (code == nullptr) return;
    keep_state(level, code);
    const Paused* paused = code->yields ? was_.paused(now) : nullptr;
    if (paused == nullptr) return enter_loops(level, code, now.instr_offset, -1, -1);
    const std::int32_t before = paused->at;
    if (now.instr_offset <= before && !awaits(level, before)) {
      const std::int32_t loop = code->innermost(now.instr_offset, before);
      if (loop >= 0) begin(level, now.instr_offset < before ? 0 : wire::kMarkInferred, code, loop);
    }
    enter_loops(level, code, now.instr_offset, before, -1);
  }
  /// Whether a coroutine goes on with what it called before it was paused.
  bool awaits(std::uint32_t level, std::int32_t before) const {
    return frame(level).instr_offset == before && level + 1 < op_.frame_count &&
           was_.paused(frame(level + 1)) != nullptr;
  }

  Iterations& was_;
  const TopLevelOp& op_;
  const FrameProbes& look_;
  ActiveLoop* const begun_;
  std::uint32_t count_ = 0;
};

void Iterations::pause(const Level& level) {
  if (!level.yields) return;
  Paused* place = &paused_[next_paused_ % kMaxPaused];
  for (Paused& one : paused_)
    if (one.frame == level.frame) place = &one;
  if (place == &paused_[next_paused_ % kMaxPaused]) ++next_paused_;
  *place = Paused{level.frame, level.code, level.at};
}

const Iterations::Paused* Iterations::paused(const python::FastFrame& frame) const {
  for (const Paused& one : paused_)
    if (one.frame == frame.frame && one.code == frame.code) return &one;
  return nullptr;
}

std::uint32_t Iterations::next(const TopLevelOp& op, const FrameProbes& look, ActiveLoop* begun) {
  return Comparison(*this, op, look, begun).run();
}

std::uint32_t Iterations::around(ActiveLoop* loops) const {
  std::uint32_t count = 0;
  for (std::uint32_t level = count_; level-- > 0;) {
    if (!levels_[level].in_loop) continue;
    const python::CodeLoops* code = levels_[level].loops;
    for (std::int32_t i = code->count - 1; i >= 0 && count < kMaxLoops; --i)
      if (code->spans[i].holds(levels_[level].at))
        loops[count++] = ActiveLoop{level, levels_[level].depth, 0, code, code->spans[i]};
  }
  return count;
}

}  // namespace gpuprof::torch
