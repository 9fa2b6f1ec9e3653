// SPDX-License-Identifier: Apache-2.0
//
// Whether the calling thread's frames are where they were: what is compared at every operator.
//
// Context:  callback (the thread is inside a C call, so its own frames stand still)
// Owns:     nothing
// Promises: a few loads a frame; nothing is read of a code object that was not believed before
// Not here: reading a frame that is new (quick.hpp)
#pragma once

#include <cstdint>

#include "gpuprof/base/bytes.hpp"
#include "inject/python/quick.hpp"
#include "inject/python/runtime.hpp"

namespace gpuprof::python {

/// What of a frame tells that it is the same one at the same place in the same code.
struct FrameLook {
  std::uint64_t frame;
  std::uint64_t code;   // 0: an interpreter-entry shim
  std::uint64_t instr;  // as the frame keeps it, and kEntryBit
  std::uint64_t mark;   // code_mark; 0 of a shim
};
/// The frame was entered from C (3.11): no address has this bit.
inline constexpr std::uint64_t kEntryBit = std::uint64_t{1} << 63;

/// Looks at frames of one interpreter.
class Looker {
 public:
  explicit Looker(const Runtime& runtime) : at_(runtime.at), this_state_(runtime.this_state) {}

  /// Addresses of the calling thread's frames, innermost first.
  std::uint32_t chain(std::uint64_t* frames, std::uint32_t room) const {
    const auto state = reinterpret_cast<std::uint64_t>(this_state_());
    if (!plausible(state)) return 0;
    auto frame = word(state + at_.thread_frame);
    if (at_.cframe_frame != kNone) frame = plausible(frame) ? word(frame + at_.cframe_frame) : 0;
    const std::uint32_t previous = at_.frame_previous;
    std::uint32_t count = 0;
    for (; count < room && plausible(frame); frame = word(frame + previous))
      frames[count++] = frame;
    return count;
  }

  bool same(const FrameLook& was, std::uint64_t frame) const {
    if (was.frame != frame) return false;
    if (is_shim(frame)) return was.code == 0;
    return was.code == code_of(frame) && was.instr == instr_of(frame) && was.code != 0 &&
           was.mark == code_mark(was.code);
  }

  /// Of a frame that was read.
  FrameLook look(const QuickFrame& read) const {
    if (read.code == 0) return {read.frame, 0, 0, 0};
    return {read.frame, read.code, instr_of(read.frame), code_mark(read.code)};
  }

  /// The first local variable of a running frame (`self` of a method); zeros where there is none.
  Object first_local(std::uint64_t frame) const {
    if (at_.frame_locals == kNone) return {0, 0};
    const std::uint64_t object = word(frame + at_.frame_locals) & ~tags();
    if (!plausible(object)) return {0, 0};
    const std::uint64_t type = word(object + at_.object_type);
    return plausible(type) ? Object{object, type} : Object{0, 0};
  }

 private:
  static std::uint64_t word(std::uint64_t at) {
    return base::load<std::uint64_t>(reinterpret_cast<const std::byte*>(at));
  }
  static std::uint8_t byte(std::uint64_t at) {
    return base::load<std::uint8_t>(reinterpret_cast<const std::byte*>(at));
  }
  /// Low bits of what a frame holds are marks in newer versions.
  std::uint64_t tags() const { return at_.minor >= 14 ? 3 : 0; }
  bool is_shim(std::uint64_t frame) const {
    return at_.minor >= 12 && byte(frame + at_.frame_owner) >= kFirstShimOwner;
  }
  std::uint64_t code_of(std::uint64_t frame) const {
    return word(frame + at_.frame_code) & ~tags();
  }
  std::uint64_t instr_of(std::uint64_t frame) const {
    // A number before 3.11.
    if (at_.minor < 11)
      return base::load<std::uint32_t>(reinterpret_cast<const std::byte*>(frame + at_.frame_instr));
    const std::uint64_t instr = word(frame + at_.frame_instr);
    const bool entry = at_.frame_is_entry != kNone && byte(frame + at_.frame_is_entry) != 0;
    return entry ? instr | kEntryBit : instr;
  }

  const Offsets& at_;
  void* (*const this_state_)();
};

/// The interpreter whose frames have proven to be laid out as is known; null: quick_frames() is to
/// be asked.
const Runtime* proven_runtime();

/// Reads one frame that chain() told of. False: it is not as this version has it.
bool quick_frame(const Runtime& runtime, std::uint64_t frame, QuickFrame* out);

/// What is known of a code object, by what its id is made of.
struct CodeFacts {
  std::uint64_t code, name;
  std::uint64_t id;  // PyCodeDef::id
  std::uint32_t line;
  bool module_call;  // is_module_call()
};

/// Makes `facts` those of `code`, which they may be already.
void code_facts(const Runtime& runtime, std::uint64_t code, CodeFacts* facts);

}  // namespace gpuprof::python
