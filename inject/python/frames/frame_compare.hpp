// SPDX-License-Identifier: Apache-2.0
//
// Whether the calling thread's frames are where they were: what is compared at every operator.
//
// Context:  callback (the thread is inside a C call, so its own frames stand still)
// Promises: a few loads a frame; nothing is read of a code object that was not accepted before
// Not here: reading a frame that is new (fast_frames.hpp)
#pragma once

#include <cstdint>

#include "gpuprof/base/bytes.hpp"
#include "inject/python/frames/code_id.hpp"
#include "inject/python/frames/fast_frames.hpp"
#include "inject/python/runtime/runtime.hpp"

namespace gpuprof::python {

/// What identifies a frame as the same one at the same place in the same code.
struct FrameFingerprint {
  std::uint64_t frame;
  std::uint64_t code;   // 0: an interpreter-entry shim
  std::uint64_t instr;  // as the frame keeps it, and kEntryBit
  std::uint64_t mark;   // CodeFingerprint; 0 of a shim
};
/// The frame was entered from C (3.11): no address has this bit.
inline constexpr std::uint64_t kEntryBit = std::uint64_t{1} << 63;

/// The first local variable of a running frame (`self` of a method); zeros where there is none.
inline Object first_local(const Runtime& runtime, std::uint64_t frame) {
  if (runtime.offsets.frame_locals == kNone) return {0, 0};
  const auto* local = reinterpret_cast<const std::byte*>(frame + runtime.offsets.frame_locals);
  const std::uint64_t object =
      base::load<std::uint64_t>(local) & ~pointer_tag_mask(runtime.offsets);
  if (!plausible(object)) return {0, 0};
  const auto* type_at = reinterpret_cast<const std::byte*>(object + runtime.offsets.object_type);
  const auto type = base::load<std::uint64_t>(type_at);
  return plausible(type) ? Object{object, type} : Object{0, 0};
}

/// How versions store where a frame is, and what kind of frame it is.
enum class FrameLayout {
  kNumber,  // an instruction's number, before 3.11
  kEntry,   // 3.11: its address, and whether C entered the frame
  kOwner,   // its address, and who owns the frame
};

inline FrameLayout form_of(const Offsets& at) {
  if (at.minor < 11) return FrameLayout::kNumber;
  return at.frame_is_entry != kNone ? FrameLayout::kEntry : FrameLayout::kOwner;
}

/// Compares frames of one interpreter.
template <FrameLayout kForm>
class FrameComparer {
 public:
  explicit FrameComparer(const Runtime& runtime)
      : runtime_(runtime),
        code_at_(runtime.offsets.frame_code),
        instr_at_(runtime.offsets.frame_instr),
        tags_(pointer_tag_mask(runtime.offsets)) {}

  /// The calling thread's innermost frame; not plausible: there is none.
  std::uint64_t top() const {
    const auto state = reinterpret_cast<std::uint64_t>(runtime_.this_state());
    return plausible(state) ? own_top_frame(runtime_, state) : 0;
  }

  /// Addresses of the frame and of those outside it, innermost first.
  std::uint32_t chain(std::uint64_t frame, std::uint64_t* frames, std::uint32_t room) const {
    const std::uint32_t previous = runtime_.offsets.frame_previous;
    std::uint32_t count = 0;
    for (; count < room && plausible(frame); frame = word(frame + previous))
      frames[count++] = frame;
    return count;
  }

  /// Whether a frame that has not ended is still at the same place.
  bool is_unmoved(const FrameFingerprint& was, std::uint64_t frame) const {
    return was.frame == frame && was.code != 0 && was.instr == instr_of(frame);
  }

  bool same(const FrameFingerprint& was, std::uint64_t frame) const {
    if (was.frame != frame) return false;
    if (is_shim(frame) || was.code == 0) return is_shim(frame) && was.code == 0;
    return was.code == (word(frame + code_at_) & ~tags_) && was.instr == instr_of(frame) &&
           was.mark == mark_of(was.code);
  }

  /// Adds what identifies a frame to a hash, and moves to the frame outside it. False: it is not as
  /// this version has it.
  bool add(std::uint64_t* frame, std::uint64_t* hash) const {
    if (!plausible(*frame)) return false;
    std::uint64_t code = 0, instr = 0, mark = 0;
    if (!is_shim(*frame)) {
      code = word(*frame + code_at_) & ~tags_;
      if (!plausible(code) || word(code + runtime_.offsets.object_type) != runtime_.code_type)
        return false;
      instr = instr_of(*frame);
      mark = mark_of(code);
    }
    *hash = base::hash_pair(base::hash_pair(*hash, *frame, code), instr, mark);
    *frame = word(*frame + runtime_.offsets.frame_previous);
    return true;
  }

  /// The fingerprint of a frame that was read.
  FrameFingerprint look(const FastFrame& read) const {
    if (read.code == 0) return {read.frame, 0, 0, 0};
    return {read.frame, read.code, instr_of(read.frame), mark_of(read.code)};
  }

 private:
  std::uint64_t mark_of(std::uint64_t code) const {
    const CodeFingerprint mark(runtime_.offsets);
    const auto* bytes = reinterpret_cast<const std::byte*>(code);
    return kForm == FrameLayout::kOwner ? mark.by_version(bytes) : mark.by_content(bytes);
  }
  static std::uint64_t word(std::uint64_t at) {
    return base::load<std::uint64_t>(reinterpret_cast<const std::byte*>(at));
  }
  bool entered_from_c(std::uint64_t frame) const {
    const auto* flag = reinterpret_cast<const std::byte*>(frame + runtime_.offsets.frame_is_entry);
    return base::load<std::uint8_t>(flag) != 0;
  }
  bool is_shim(std::uint64_t frame) const {
    return kForm == FrameLayout::kOwner &&
           python::is_shim(runtime_.offsets, reinterpret_cast<const std::byte*>(frame));
  }
  std::uint64_t instr_of(std::uint64_t frame) const {
    const std::uint64_t instr = word(frame + instr_at_);
    if (kForm == FrameLayout::kNumber) return static_cast<std::uint32_t>(instr);
    return kForm == FrameLayout::kEntry && entered_from_c(frame) ? instr | kEntryBit : instr;
  }

  const Runtime& runtime_;
  const std::uint32_t code_at_, instr_at_;
  const std::uint64_t tags_;
};

}  // namespace gpuprof::python
