// SPDX-License-Identifier: Apache-2.0
//
// Instructions of x86-64, as far as they end functions.
//
// Context:  signal | callback
// Owns:     nothing
#include <algorithm>
#include <cstddef>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/readable.hpp"
#include "inject/sample/unwind/code_bytes_x86_64.hpp"
#include "inject/sample/unwind/heuristic_step.hpp"

namespace gpuprof::sample {

namespace {

// A frame further away is none.
constexpr std::uint64_t kFarthest = std::uint64_t{1} << 20;
// Words of a frame that are searched for a return address that would be passed over.
constexpr std::uint64_t kSearchedWords = 48;
constexpr std::uint64_t kSearchedCode = 512;  // bytes

bool is_indirect_call(const unsigned char* at, std::size_t bytes) {
  if (at[0] != 0xff || (at[1] & 0x38) != 0x10) return false;
  const unsigned mode = at[1] >> 6, base = at[1] & 7;
  if (mode == 3) return bytes == 2;
  const bool has_sib = base == 4;
  std::size_t length = has_sib ? 3 : 2;
  if (mode == 1) length += 1;
  if (mode == 2 || (mode == 0 && base == 5)) length += 4;
  if (mode == 0 && has_sib && (at[2] & 7) == 5) length += 4;
  return length == bytes;
}

/// What one instruction does to the stack; `bytes` 0: it is none of those that are known.
struct Effect {
  unsigned bytes = 0;
  std::int64_t moves = 0;  // of the stack pointer
  enum What { kMove, kPushFrame, kPopFrame, kLeave, kReturn } what = kMove;
};

// Those that end a function.
Effect leaving(const unsigned char* at, unsigned left) {
  if (starts_with(at, left, {0x48, 0x83, 0xc4}) && left >= 4) return {4, byte_of(at + 3)};
  if (starts_with(at, left, {0x48, 0x81, 0xc4}) && left >= 7) return {7, long_of(at + 3)};
  if (starts_with(at, left, {0xc5, 0xf8, 0x77})) return {3};  // vzeroupper
  if (left >= 1 && at[0] == 0x5d) return {1, 8, Effect::kPopFrame};
  if (left >= 1 && at[0] >= 0x58 && at[0] <= 0x5f && at[0] != 0x5c) return {1, 8};
  if (left >= 2 && at[0] == 0x41 && at[1] >= 0x58 && at[1] <= 0x5f) return {2, 8};
  if (left >= 1 && at[0] == 0xc9) return {1, 0, Effect::kLeave};
  if (left >= 1 && at[0] == 0xc3) return {1, 8, Effect::kReturn};
  if (left >= 2 && (at[0] == 0xf2 || at[0] == 0xf3) && at[1] == 0xc3)
    return {2, 8, Effect::kReturn};
  if (left >= 3 && at[0] == 0xc2)
    return {3, 8 + std::int64_t{base::load<std::uint16_t>(at + 1)}, Effect::kReturn};
  return {};
}

// Those between its begin and a call, where the interrupted instruction may be one of them.
Effect entering(const unsigned char* at, unsigned left) {
  if (starts_with(at, left, {0xf3, 0x0f, 0x1e, 0xfa})) return {4};  // endbr64
  if (starts_with(at, left, {0x48, 0x83, 0xec}) && left >= 4) return {4, -byte_of(at + 3)};
  if (starts_with(at, left, {0x48, 0x81, 0xec}) && left >= 7) return {7, -long_of(at + 3)};
  if (left >= 1 && at[0] == 0x55) return {1, -8, Effect::kPushFrame};
  if (left >= 2 && at[0] == 0xff && (at[1] & 0xf8) == 0xd0) return {2};  // call by a register
  if (left >= 3 && at[0] == 0x41 && at[1] == 0xff && (at[2] & 0xf8) == 0xd0) return {3};
  return {};
}

/// Follows the instructions from frame.pc to the return. `slot`: where its address lies.
class Follower {
 public:
  Follower(const CodeAccess& code, const FrameRegisters& frame)
      : code_(code), frame_(frame), sp_(frame.sp), fp_(frame.fp) {}

  bool run() {
    const Code code = code_at(code_, frame_.pc, kWindow);
    for (unsigned i = 0; i < code.count;) {
      Effect effect = leaving(code.at + i, code.count - i);
      if (effect.bytes == 0 && frame_.interrupted) effect = entering(code.at + i, code.count - i);
      if (effect.bytes == 0 || !apply(effect)) return false;
      if (effect.what == Effect::kReturn) return true;
      i += effect.bytes;
    }
    return false;
  }
  std::uint64_t slot() const { return slot_; }
  std::uint64_t sp() const { return sp_; }
  std::uint64_t fp() const { return fp_; }

 private:
  bool apply(const Effect& effect) {
    if (effect.what == Effect::kLeave) {
      sp_ = fp_;
      if (sp_ < frame_.sp || sp_ - frame_.sp > kFarthest) return false;
      return code_.read(code_.from, sp_, &fp_) && (sp_ += 8, true);
    }
    if (effect.what == Effect::kPushFrame) pushed_ = sp_ - 8;
    // What it pushed is still in the register.
    if (effect.what == Effect::kPopFrame && sp_ != pushed_ &&
        !(sp_ >= frame_.sp && code_.read(code_.from, sp_, &fp_)))
      return false;
    if (effect.what == Effect::kReturn) slot_ = sp_;
    sp_ += static_cast<std::uint64_t>(effect.moves);
    return true;
  }

  const CodeAccess& code_;
  const FrameRegisters& frame_;
  std::uint64_t sp_, fp_, pushed_ = 0, slot_ = 0;
};

bool returns_to(const CodeAccess& code, std::uint64_t slot, std::uint64_t* address) {
  return code.read(code.from, slot, address) && base::user_address(*address) &&
         is_return_address(code, *address);
}

// A goroutine returns to the second instruction of its end, a call behind a nop; there is no frame
// to be pointed at any more.
bool ends_there(const CodeAccess& code, std::uint64_t slot, std::uint64_t fp) {
  std::uint64_t address;
  if (fp != 0 || !code.read(code.from, slot, &address) || !base::user_address(address) ||
      !is_go(code, address))
    return false;
  const Code end = code_at(code, address - 1, 2);
  return starts_with(end.at, end.count, {0x90, 0xe8});
}

bool take(FrameRegisters* frame, std::uint64_t pc, std::uint64_t sp, std::uint64_t fp) {
  *frame = FrameRegisters{pc, sp, fp, false};
  return true;
}

bool step_by_epilogue(const CodeAccess& code, FrameRegisters* frame) {
  Follower follower(code, *frame);
  std::uint64_t caller;
  if (!follower.run() || follower.slot() < frame->sp || follower.slot() - frame->sp > kFarthest ||
      !returns_to(code, follower.slot(), &caller))
    return false;
  return take(frame, caller, follower.sp(), follower.fp());
}

// Interrupted before the frame pointer was saved or set.
bool step_at_entry(const CodeAccess& code, FrameRegisters* frame) {
  if (!frame->interrupted) return false;
  const Code code_here = code_at(code, frame->pc, 12);
  const unsigned char* at = code_here.at;
  const unsigned left = code_here.count;
  std::uint64_t caller, saved;
  // Go's signal handler has put this call before the interrupted instruction.
  const bool preempts =
      is_go(code, frame->pc) && starts_with(at, left, {0x55, 0x48, 0x89, 0xe5, 0x9c});
  if (preempts && code.read(code.from, frame->sp, &caller) && is_go(code, caller))
    return take(frame, caller, frame->sp + 8, frame->fp);
  const unsigned mark = starts_with(at, left, {0xf3, 0x0f, 0x1e, 0xfa}) ? 4 : 0;
  if (starts_with(at + mark, left - mark, {0x55, 0x48, 0x89, 0xe5}))
    return returns_to(code, frame->sp, &caller) && take(frame, caller, frame->sp + 8, frame->fp);
  const Code before = code_at(code, frame->pc - 1, 1);
  if (before.count == 1 && before.at[0] == 0x55 && starts_with(at, left, {0x48, 0x89, 0xe5}))
    return code.read(code.from, frame->sp, &saved) && returns_to(code, frame->sp + 8, &caller) &&
           take(frame, caller, frame->sp + 16, saved);
  return false;
}

// Whether the function around `pc` has set the frame pointer: its begin lies not far before, and no
// other function's end between them.
bool keeps_frame_pointer(const CodeAccess& code, std::uint64_t pc) {
  constexpr std::uint64_t kSet = 0xe5894855;  // push %rbp; mov %rsp,%rbp
  // Go up to 1.20: lea n(%rsp),%rbp
  constexpr std::uint64_t kSetNear = 0x246c8d48, kSetFar = 0x24ac8d48;
  const bool go = is_go(code, pc);
  constexpr unsigned kReturn = 0xc3;
  std::uint64_t behind = 0;  // the eight bytes from `at` on, as it goes back
  for (std::uint64_t at = pc, word; pc - at < kSearchedCode;) {
    --at;
    if ((at + 1) % 8 == 0 || at + 1 == pc)
      if (!code.read(code.from, at & ~std::uint64_t{7}, &word)) return false;
    behind = behind << 8 | (word >> (8 * (at % 8)) & 0xff);
    const std::uint64_t four = behind & 0xffffffff;
    if (four == kSet || (go && (four == kSetNear || four == kSetFar))) return true;
    const unsigned next = (behind >> 8) & 0xff;
    const bool padded = next == 0 || next == 0xcc || next == 0x90 || next == 0x66 || next == 0x0f;
    if ((behind & 0xff) == kReturn && padded && pc - at > 1) return false;
  }
  return false;
}

// A word between that looks like a return address: what is left behind, or the caller's.
bool passes_over_one(const CodeAccess& code, std::uint64_t from, std::uint64_t to) {
  const std::uint64_t end = std::min(to, from + kSearchedWords * 8);
  for (std::uint64_t at = from, word; at < end; at += 8)
    if (returns_to(code, at, &word)) return true;
  return false;
}

StepResult step_by_frame_pointer(const CodeAccess& code, FrameRegisters* frame) {
  const std::uint64_t sp = frame->sp, fp = frame->fp;
  std::uint64_t caller, saved;
  if (sp % 8 != 0) return StepResult::kLost;
  // What was left behind may lie on top of a Go frame, which is known to be one.
  const bool framed =
      is_go(code, frame->pc) && (!frame->interrupted || keeps_frame_pointer(code, frame->pc));
  if (!framed && fp != sp && returns_to(code, sp, &caller)) {
    take(frame, caller, sp + 8, fp);
    return StepResult::kLikely;
  }
  if (!framed && ends_there(code, sp, fp)) {
    take(frame, 0, sp + 8, 0);
    return StepResult::kLikely;
  }
  if (fp % 8 != 0 || fp < sp || fp - sp > kFarthest || !code.read(code.from, fp, &saved) ||
      !base::user_address(fp))
    return StepResult::kLost;
  if (!returns_to(code, fp + 8, &caller)) {
    if (!ends_there(code, fp + 8, saved)) return StepResult::kLost;
    caller = 0;
  }
  const bool gaps = !keeps_frame_pointer(code, frame->pc) && passes_over_one(code, sp, fp);
  take(frame, caller, fp + 16, saved);
  return gaps ? StepResult::kMayHaveSkipped : StepResult::kLikely;
}

}  // namespace

bool is_return_address(const CodeAccess& code, std::uint64_t address) {
  if (!code.is_code(code.from, address - 1)) return false;
  const Code before = code_at(code, address - 7, 7);
  if (before.count < 7) return false;
  if (before.at[2] == 0xe8) return true;
  for (const unsigned bytes : {2u, 3u, 4u, 6u, 7u})
    if (is_indirect_call(before.at + 7 - bytes, bytes)) return true;
  return false;
}

StepResult step_without_tables(const CodeAccess& code, FrameRegisters* frame) {
  if (step_by_epilogue(code, frame) || step_at_entry(code, frame) || step_by_prologue(code, frame))
    return StepResult::kCertain;
  // Of code that is not known the frame pointer says nothing.
  if (!code.is_code(code.from, frame->pc - (frame->interrupted ? 0 : 1))) return StepResult::kLost;
  return step_by_frame_pointer(code, frame);
}

}  // namespace gpuprof::sample
