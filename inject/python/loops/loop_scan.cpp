// SPDX-License-Identifier: Apache-2.0
//
// One pass over the instructions, then the jumps are made to nest.
//
// Context:  callback
// Owns:     nothing
#include "inject/python/loops/loop_scan.hpp"

#include "inject/python/loops/jump_table.hpp"

namespace gpuprof::python {
namespace {

constexpr std::uint32_t kTables = sizeof kJumpTable / sizeof kJumpTable[0];
/// From here on handlers lie behind everything else.
constexpr std::uint32_t kHandlersApart = 12;
/// Versions that write the test of a `while` twice.
constexpr std::uint32_t kFirstTwoTests = 10, kLastTwoTests = 13;
/// Loops whose exits are remembered for kExecutor.
constexpr std::uint32_t kMaxExits = 128;

struct Instruction {
  std::int32_t start;  // of its first EXTENDED_ARG
  std::int32_t at;     // of the opcode itself
  std::int32_t after;  // of the next instruction
  std::uint32_t argument;
  JumpRole role;
};

/// A span while it is being found.
struct Found {
  LoopSpan span;
  bool tests_end;  // its last jump depends on a test
};

class Scanner {
 public:
  Scanner(std::uint32_t minor, const std::uint8_t* code, std::int32_t bytes, LoopScan* out)
      : minor_(minor),
        table_(kJumpTable[minor - kFirstJumpMinor]),
        code_(code),
        bytes_(bytes),
        out_(out) {}

  /// False: an instruction hides what was there.
  bool run() {
    bool async = false;
    Instruction now{}, before{0, 0, 0, 0, JumpRole::kPlain};
    for (std::int32_t at = 0; read(at, &now); at = now.after, before = now) {
      if (now.role == JumpRole::kHidden) return false;
      if (now.role == JumpRole::kYield) out_->yields = true;
      if (now.role == JumpRole::kAsyncEnd) async = true;
      // Behind an `async for` everything is laid out as if it were its handler.
      if (now.role == JumpRole::kHandler && minor_ >= kHandlersApart && !async &&
          out_->handlers == kNoHandlers)
        out_->handlers = now.at;
      if (now.role == JumpRole::kForIter && exit_count_ < kMaxExits)
        exits_[exit_count_++] = {now.start, target_of(now), now.after};
      if (before.role != JumpRole::kThrow) take(now, before);
    }
    nest();
    for (std::uint32_t i = 0; i < count_; ++i) out_->spans[i] = found_[i].span;
    out_->count = count_;
    return true;
  }

 private:
  bool read(std::int32_t at, Instruction* out) const {
    *out = Instruction{at, at, at, 0, JumpRole::kExtended};
    while (out->role == JumpRole::kExtended) {
      if (out->after > bytes_ - 2) return false;
      const std::uint8_t entry = table_[code_[out->after]];
      out->argument = out->argument << 8 | code_[out->after + 1];
      out->role = static_cast<JumpRole>(entry >> 4);
      out->at = out->after;
      out->after += 2 + 2 * (entry & 15);
    }
    return true;
  }

  std::int32_t target_of(const Instruction& now) const {
    // Counted in code units from 3.10 on. An argument beyond the code leads nowhere.
    const std::uint32_t unit = minor_ >= 10 ? 2 : 1;
    if (now.argument > static_cast<std::uint32_t>(bytes_)) return -1;
    const auto distance = static_cast<std::int32_t>(now.argument * unit);
    switch (now.role) {
      case JumpRole::kBackward:
      case JumpRole::kBackwardIf:
        return now.after - distance;
      case JumpRole::kAbsolute:
      case JumpRole::kAbsoluteIf:
        return distance;
      case JumpRole::kForIter:
      case JumpRole::kForwardIf:
        return now.after + distance;
      case JumpRole::kExecutor:
        for (std::uint32_t i = 0; i < exit_count_; ++i)
          if (exits_[i].jump == now.after) return exits_[i].target;
        return -1;
      default:
        return -1;
    }
  }

  void take(const Instruction& now, const Instruction& before) {
    if (now.role == JumpRole::kForIter || now.role == JumpRole::kForwardIf) return;
    const std::int32_t target = target_of(now);
    if (target < 0 || target > now.at) return;
    if (now.at >= out_->handlers && target < out_->handlers) return;
    const bool tests = now.role == JumpRole::kBackwardIf || now.role == JumpRole::kAbsoluteIf ||
                       before.role == JumpRole::kForwardIf;
    for (std::uint32_t i = 0; i < count_; ++i)
      if (found_[i].span.target == target) {
        found_[i].span.jump = now.at;
        found_[i].tests_end = tests;
        return;
      }
    if (count_ == kMaxSpans) return;
    Instruction head{};
    const bool iterates = read(target, &head) && head.role == JumpRole::kForIter;
    const std::int32_t body = iterates ? head.after : 0;
    std::uint32_t place = count_++;
    for (; place > 0 && found_[place - 1].span.target > target; --place)
      found_[place] = found_[place - 1];
    found_[place] = Found{{target, now.at, body}, tests};
  }

  /// Jumps that cross, `[a [b a] b]`: b is inside a, whose last instructions are those of b, or
  /// both are one loop.
  void nest() {
    for (std::uint32_t a = count_; a-- > 0;)
      for (std::uint32_t b = a + 1; b < count_;) {
        LoopSpan& outer = found_[a].span;
        const LoopSpan inner = found_[b].span;
        if (inner.target > outer.jump) break;
        const bool same = same_loop(a, b);
        if (inner.jump > outer.jump) outer.jump = inner.jump;
        if (same)
          remove(b);
        else
          ++b;
      }
  }

  /// From 3.10 to 3.13 a `while` has its test twice, at its top and at its end: `continue` jumps to
  /// the first (of a constant only a NOP is left), the second jumps behind that.
  bool same_loop(std::uint32_t a, std::uint32_t b) const {
    if (minor_ < kFirstTwoTests || minor_ > kLastTwoTests) return false;
    const Found& outer = found_[a];
    const Found& inner = found_[b];
    if (outer.span.iterates() || inner.span.iterates()) return false;
    if (inner.span.target == outer.span.target + 2) return true;
    const std::int32_t end = inner.span.jump > outer.span.jump ? inner.span.jump : outer.span.jump;
    return inner.tests_end && leaves_before(inner.span.target) > end;
  }

  void remove(std::uint32_t place) {
    for (std::uint32_t i = place + 1; i < count_; ++i) found_[i - 1] = found_[i];
    --count_;
  }

  /// Where the instruction before `place` may jump; -1 if it does not.
  std::int32_t leaves_before(std::int32_t place) const {
    Instruction now{};
    for (std::int32_t at = 0; read(at, &now); at = now.after)
      if (now.after == place)
        return now.role == JumpRole::kForwardIf || now.role == JumpRole::kAbsoluteIf
                   ? target_of(now)
                   : -1;
    return -1;
  }

  const std::uint32_t minor_;
  const std::uint8_t* const table_;
  const std::uint8_t* const code_;
  const std::int32_t bytes_;
  LoopScan* const out_;
  std::uint32_t count_ = 0, exit_count_ = 0;
  Found found_[kMaxSpans];
  LoopSpan exits_[kMaxExits];  // of a FOR_ITER: where it is, where it leads
};

}  // namespace

void scan_loops(std::uint32_t minor, const std::uint8_t* code, std::int32_t bytes, LoopScan* out) {
  out->known = out->yields = false;
  out->handlers = kNoHandlers;
  out->count = 0;
  if (minor < kFirstJumpMinor || minor >= kFirstJumpMinor + kTables) return;
  out->known = Scanner(minor, code, bytes, out).run();
}

}  // namespace gpuprof::python
