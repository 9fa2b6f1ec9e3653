// SPDX-License-Identifier: Apache-2.0
//
// The rule, as docs/steps.md tells it.
//
// Context:  callback
// Owns:     nothing
#include "inject/torch/iterations.hpp"

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/wire/records.hpp"

namespace gpuprof::torch {

std::uint64_t LoopAt::id() const {
  std::uint64_t id = base::hash_step(0x6c6f6f70u, code->id);
  id = base::hash_step(id, level);
  id = base::hash_step(id, static_cast<std::uint32_t>(span.target));
  return id == 0 ? 1 : id;
}

/// One operator against the one before it.
class Iterations::Comparison {
 public:
  Comparison(Iterations& was, const TopLevel& op, LoopsOfCode loops_of, LoopAt* begun)
      : was_(was), op_(op), loops_of_(loops_of), begun_(begun) {}

  std::uint32_t run() {
    const std::uint32_t level = first_difference();
    if (level == op_.frame_count && level == was_.count_) {
      if (op_.name_id == was_.first_name_ && !op_.engine) repeat(level);
      return count_;
    }
    was_.first_name_ = op_.name_id;
    const bool moved = level < op_.frame_count && level < was_.count_ && same_frame(level);
    for (std::uint32_t i = moved ? level + 1 : level; i < was_.count_; ++i)
      was_.pause(was_.levels_[i]);
    if (moved)
      move(level);
    else
      repeat(level);
    for (std::uint32_t i = moved ? level + 1 : level; i < op_.frame_count; ++i) enter(i);
    was_.count_ = op_.frame_count;
    return count_;
  }

 private:
  const python::QuickFrame& frame(std::uint32_t level) const {
    return op_.frames[op_.frame_count - 1 - level];
  }
  bool same_frame(std::uint32_t level) const {
    const Level& was = was_.levels_[level];
    return was.frame == frame(level).frame && was.code == frame(level).code;
  }
  std::uint32_t first_difference() const {
    std::uint32_t level = 0;
    while (level < was_.count_ && level < op_.frame_count && same_frame(level) &&
           was_.levels_[level].actual == frame(level).instr_offset)
      ++level;
    return level;
  }

  void begin(std::uint32_t level, std::uint32_t flags, const python::CodeLoops* code,
             std::int32_t loop) {
    if (count_ < kMaxLoops) begun_[count_++] = LoopAt{level, flags, code, code->spans[loop]};
  }
  /// Loops that hold `now` but do not hold `before`: the program came in.
  void enter_loops(std::uint32_t level, const python::CodeLoops* code, std::int32_t now,
                   const std::int32_t* before) {
    for (std::int32_t i = 0; i < code->count; ++i)
      if (code->spans[i].holds(now) && (before == nullptr || !code->spans[i].holds(*before)))
        begin(level, wire::kMarkFirst, code, i);
  }

  /// Frames from `end` on are new while those outside did not move: if one of these is in a loop,
  /// the innermost such loop went round.
  void repeat(std::uint32_t end) {
    for (std::uint32_t level = end; level-- > 0;) {
      const python::CodeLoops* code = loops_of_(frame(level).code);
      if (code == nullptr) continue;
      const std::int32_t at = was_.levels_[level].at;
      const std::int32_t loop = code->innermost(at, at);
      if (loop < 0) continue;
      begin(level, wire::kMarkWeak, code, loop);
      return;
    }
  }

  /// The frame at `level` is the same, its instruction is another one.
  void move(std::uint32_t level) {
    Level& was = was_.levels_[level];
    const std::int32_t actual = frame(level).instr_offset;
    const std::int32_t before = was.at;
    const bool back_from_handler = was.actual != was.at;
    const python::CodeLoops* code = loops_of_(frame(level).code);
    was.actual = was.at = actual;
    if (code == nullptr) {
      if (actual < before) repeat(level);
      return;
    }
    if (actual >= code->handlers && code->innermost(actual, actual) < 0) {
      // Handlers lie behind the loop that their `try` is in.
      was.at = before;
      return;
    }
    if (actual < before || (actual == before && back_from_handler)) {
      const std::int32_t loop = code->innermost(actual, before);
      if (loop >= 0)
        begin(level, 0, code, loop);
      else
        repeat(level);
    }
    enter_loops(level, code, actual, &before);
  }

  /// The frame at `level` was not there before.
  void enter(std::uint32_t level) {
    const python::QuickFrame& now = frame(level);
    const python::CodeLoops* code = loops_of_(now.code);
    was_.levels_[level] = Level{now.frame, now.code, now.instr_offset, now.instr_offset,
                                code != nullptr && code->yields};
    if (code == nullptr) return;
    const Paused* paused = code->yields ? was_.paused(now) : nullptr;
    if (paused == nullptr) return enter_loops(level, code, now.instr_offset, nullptr);
    const std::int32_t before = paused->at;
    if (now.instr_offset <= before && !awaits(level, before)) {
      const std::int32_t loop = code->innermost(now.instr_offset, before);
      if (loop >= 0) begin(level, now.instr_offset < before ? 0 : wire::kMarkWeak, code, loop);
    }
    enter_loops(level, code, now.instr_offset, &before);
  }
  /// Whether a coroutine goes on with what it called before it was paused.
  bool awaits(std::uint32_t level, std::int32_t before) const {
    return frame(level).instr_offset == before && level + 1 < op_.frame_count &&
           was_.paused(frame(level + 1)) != nullptr;
  }

  Iterations& was_;
  const TopLevel& op_;
  const LoopsOfCode loops_of_;
  LoopAt* const begun_;
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

const Iterations::Paused* Iterations::paused(const python::QuickFrame& frame) const {
  for (const Paused& one : paused_)
    if (one.frame == frame.frame && one.code == frame.code) return &one;
  return nullptr;
}

std::uint32_t Iterations::next(const TopLevel& op, LoopsOfCode loops_of, LoopAt* begun) {
  return Comparison(*this, op, loops_of, begun).run();
}

std::uint32_t Iterations::around(LoopsOfCode loops_of, LoopAt* loops) const {
  std::uint32_t count = 0;
  for (std::uint32_t level = count_; level-- > 0;) {
    const python::CodeLoops* code = loops_of(levels_[level].code);
    if (code == nullptr) continue;
    for (std::int32_t i = code->count - 1; i >= 0 && count < kMaxLoops; --i)
      if (code->spans[i].holds(levels_[level].at))
        loops[count++] = LoopAt{level, 0, code, code->spans[i]};
  }
  return count;
}

}  // namespace gpuprof::torch
