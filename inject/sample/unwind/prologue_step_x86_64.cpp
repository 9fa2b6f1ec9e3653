// SPDX-License-Identifier: Apache-2.0
//
// Functions of compilers that keep neither frame pointer nor tables (LLVM's, where nothing is
// thrown): the frame is as large as the function's first instructions make it.
//
// Context:  signal | callback
// Owns:     nothing
//
// Where a function begins is not known. But its caller's call says it: a word of the stack behind
// such a call is the return address if the function that is called there makes a frame that ends
// right below it. Both at once are no accident.
#include <cstddef>

#include "gpuprof/base/readable.hpp"
#include "inject/sample/unwind/code_bytes_x86_64.hpp"
#include "inject/sample/unwind/heuristic_step.hpp"

namespace gpuprof::sample {

namespace {

// Words of a frame, and bytes of a function.
constexpr std::uint64_t kMaxWords = 512, kMax = std::uint64_t{1} << 20;
constexpr unsigned kPushes = 12;

/// The function that the call before `back` calls; 0: not told there.
std::uint64_t called_before(const CodeAccess& code, std::uint64_t back) {
  const Code before = code_at(code, back - kWindow, kWindow);
  if (before.count < kWindow) return 0;
  const unsigned char* const end = before.at + kWindow;
  if (end[-5] == 0xe8) return back + static_cast<std::uint64_t>(long_of(end - 4));
  // call *%r, its number loaded a little before (movabs $function, %r)
  const bool high = end[-3] == 0x41;
  if (end[-2] != 0xff || (end[-1] & 0xf8) != 0xd0) return 0;
  const unsigned char move[] = {static_cast<unsigned char>(high ? 0x49 : 0x48),
                                static_cast<unsigned char>(0xb8 | (end[-1] & 7))};
  for (const unsigned char* at = end - (high ? 3 : 2) - 10; at >= before.at; --at)
    if (at[0] == move[0] && at[1] == move[1]) return base::load<std::uint64_t>(at + 2);
  return 0;
}

/// What a function's first instructions put on the stack, up to `until`.
struct Made {
  std::uint64_t bytes = 0;
  std::uint64_t frame_pointer = 0;  // how far below the return address it lies; 0: nowhere
};

// One instruction of a function's begin; 0: it is none that makes the frame.
unsigned make(const unsigned char* at, unsigned left, Made* made) {
  if (starts_with(at, left, {0xf3, 0x0f, 0x1e, 0xfa})) return 4;
  if (left >= 4 && starts_with(at, left, {0x48, 0x83, 0xec}))
    return made->bytes += static_cast<std::uint64_t>(byte_of(at + 3)), 4;
  if (left >= 7 && starts_with(at, left, {0x48, 0x81, 0xec}))
    return made->bytes += static_cast<std::uint64_t>(long_of(at + 3)), 7;
  if (left >= 3 && starts_with(at, left, {0x48, 0x89, 0xe5})) return 3;  // mov %rsp, %rbp
  const bool high = left >= 2 && at[0] == 0x41;
  const unsigned push = high ? at[1] : left >= 1 ? at[0] : 0;
  if (push < 0x50 || push > 0x57) return 0;
  made->bytes += 8;
  if (!high && push == 0x55) made->frame_pointer = made->bytes;
  return high ? 2 : 1;
}

Made frame_of(const CodeAccess& code, std::uint64_t function, std::uint64_t until) {
  Made made;
  std::uint64_t at = function;
  for (unsigned count = 0; count <= kPushes && at < until; ++count) {
    const Code here = code_at(code, at, 8);
    const unsigned bytes = make(here.at, here.count, &made);
    if (bytes == 0) break;
    at += bytes;
  }
  return made;
}

}  // namespace

bool step_by_prologue(const CodeAccess& code, FrameRegisters* frame) {
  if (frame->sp % 8 != 0 || is_go(code, frame->pc)) return false;
  for (std::uint64_t i = 0, slot = frame->sp; i < kMaxWords; ++i, slot += 8) {
    std::uint64_t back;
    if (!code.read(code.from, slot, &back)) return false;
    if (!base::user_address(back) || !is_return_address(code, back)) continue;
    const std::uint64_t function = called_before(code, back);
    if (function > frame->pc || frame->pc - function >= kMax) continue;
    const Made made = frame_of(code, function, frame->pc);
    if (frame->sp + made.bytes != slot) continue;
    std::uint64_t fp = frame->fp;
    if (made.frame_pointer != 0 && !code.read(code.from, slot - made.frame_pointer, &fp))
      return false;
    *frame = FrameRegisters{back, slot + 8, fp, false};
    return true;
  }
  return false;
}

}  // namespace gpuprof::sample
