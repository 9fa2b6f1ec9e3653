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
#include "inject/python/code_id.hpp"
#include "inject/python/quick.hpp"
#include "inject/python/runtime.hpp"

namespace gpuprof::python {

/// What of a frame tells that it is the same one at the same place in the same code.
struct FrameLook {
  std::uint64_t frame;
  std::uint64_t code;   // 0: an interpreter-entry shim
  std::uint64_t instr;  // as the frame keeps it, and kEntryBit
  std::uint64_t mark;   // CodeMark; 0 of a shim
};
/// The frame was entered from C (3.11): no address has this bit.
inline constexpr std::uint64_t kEntryBit = std::uint64_t{1} << 63;

/// Low bits of what a frame holds are marks in newer versions.
inline std::uint64_t tags_of(const Runtime& runtime) { return runtime.at.minor >= 14 ? 3 : 0; }

/// The first local variable of a running frame (`self` of a method); zeros where there is none.
inline Object first_local(const Runtime& runtime, std::uint64_t frame) {
  if (runtime.at.frame_locals == kNone) return {0, 0};
  const auto* local = reinterpret_cast<const std::byte*>(frame + runtime.at.frame_locals);
  const std::uint64_t object = base::load<std::uint64_t>(local) & ~tags_of(runtime);
  if (!plausible(object)) return {0, 0};
  const auto* type_at = reinterpret_cast<const std::byte*>(object + runtime.at.object_type);
  const auto type = base::load<std::uint64_t>(type_at);
  return plausible(type) ? Object{object, type} : Object{0, 0};
}

/// How versions tell where a frame is, and what kind of frame it is.
enum class FrameForm {
  kNumber,  // an instruction's number, before 3.11
  kEntry,   // 3.11: its address, and whether C entered the frame
  kOwner,   // its address, and who owns the frame
};

inline FrameForm form_of(const Offsets& at) {
  if (at.minor < 11) return FrameForm::kNumber;
  return at.frame_is_entry != kNone ? FrameForm::kEntry : FrameForm::kOwner;
}

/// Looks at frames of one interpreter.
template <FrameForm kForm>
class Looker {
 public:
  explicit Looker(const Runtime& runtime)
      : runtime_(runtime),
        code_at_(runtime.at.frame_code),
        instr_at_(runtime.at.frame_instr),
        kind_at_(kForm == FrameForm::kEntry ? runtime.at.frame_is_entry : runtime.at.frame_owner),
        tags_(tags_of(runtime)) {}

  /// The calling thread's innermost frame; not plausible: there is none.
  std::uint64_t top() const {
    const Offsets& at = runtime_.at;
    const auto state = reinterpret_cast<std::uint64_t>(runtime_.this_state());
    if (!plausible(state)) return 0;
    const std::uint64_t frame = word(state + at.thread_frame);
    if (at.cframe_frame == kNone) return frame;
    return plausible(frame) ? word(frame + at.cframe_frame) : 0;
  }

  /// Addresses of the frame and of those outside of it, innermost first.
  std::uint32_t chain(std::uint64_t frame, std::uint64_t* frames, std::uint32_t room) const {
    const std::uint32_t previous = runtime_.at.frame_previous;
    std::uint32_t count = 0;
    for (; count < room && plausible(frame); frame = word(frame + previous))
      frames[count++] = frame;
    return count;
  }

  /// Whether a frame that has not ended is still at the same place.
  bool stands(const FrameLook& was, std::uint64_t frame) const {
    return was.frame == frame && was.code != 0 && was.instr == instr_of(frame);
  }

  bool same(const FrameLook& was, std::uint64_t frame) const {
    if (was.frame != frame) return false;
    if (is_shim(frame) || was.code == 0) return is_shim(frame) && was.code == 0;
    return was.code == (word(frame + code_at_) & ~tags_) && was.instr == instr_of(frame) &&
           was.mark == mark_of(was.code);
  }

  /// Of a frame that was read.
  FrameLook look(const QuickFrame& read) const {
    if (read.code == 0) return {read.frame, 0, 0, 0};
    return {read.frame, read.code, instr_of(read.frame), mark_of(read.code)};
  }

 private:
  std::uint64_t mark_of(std::uint64_t code) const {
    const CodeMark mark(runtime_.at);
    return kForm == FrameForm::kOwner ? mark.numbered(code) : mark.by_content(code);
  }
  static std::uint64_t word(std::uint64_t at) {
    return base::load<std::uint64_t>(reinterpret_cast<const std::byte*>(at));
  }
  std::uint8_t kind_of(std::uint64_t frame) const {
    return base::load<std::uint8_t>(reinterpret_cast<const std::byte*>(frame + kind_at_));
  }
  bool is_shim(std::uint64_t frame) const {
    return kForm == FrameForm::kOwner && runtime_.at.minor >= 12 &&
           kind_of(frame) >= kFirstShimOwner;
  }
  std::uint64_t instr_of(std::uint64_t frame) const {
    const std::uint64_t instr = word(frame + instr_at_);
    if (kForm == FrameForm::kNumber) return static_cast<std::uint32_t>(instr);
    return kForm == FrameForm::kEntry && kind_of(frame) != 0 ? instr | kEntryBit : instr;
  }

  const Runtime& runtime_;
  const std::uint32_t code_at_, instr_at_, kind_at_;
  const std::uint64_t tags_;
};

/// The interpreter whose frames have proven to be laid out as is known; null: quick_frames() is to
/// be asked.
const Runtime* proven_runtime();

/// Reads one frame that chain() told of. False: it is not as this version has it.
bool quick_frame(const Runtime& runtime, std::uint64_t frame, QuickFrame* out);

/// What is known of a code object.
struct CodeFacts {
  std::uint64_t code, mark;  // CodeMark
  std::uint64_t id;          // PyCodeDef::id
  bool module_call;          // is_module_call()
};

/// Makes `facts` those of `code`, which they may be already.
void code_facts(const Runtime& runtime, std::uint64_t code, CodeFacts* facts);

}  // namespace gpuprof::python
