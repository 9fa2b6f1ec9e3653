// SPDX-License-Identifier: Apache-2.0
//
// Follows one thread state's chain of frames and sends the code objects it meets.
//
// Context:  signal | callback | worker
// Promises: bounded; a chain that does not end as this version's chains end is flagged partial;
//           a code object is believed only if its type is PyCode_Type
// Not here: where the bytes come from (RemoteMemory is in remote_frames.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/wire/records.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/python/frames/code_id.hpp"
#include "inject/python/frames/code_id_cache.hpp"
#include "inject/python/frames/frames.hpp"
#include "inject/python/frames/str_object.hpp"
#include "inject/python/runtime/runtime.hpp"

namespace gpuprof::python {

/// One walk. Memory gives `view(address, bytes, room)`, bytes valid until the next view into the
/// same room, and `keep(address, bytes)`, bytes valid until `clear()`; both null if unreadable.
/// kOwn says whether plain loads would do as well.
template <typename Memory>
class FrameWalk {
 public:
  FrameWalk(Memory& memory, const Runtime& runtime, const hot::Guard& guard, std::uint64_t ts_ns)
      : memory_(memory), runtime_(runtime), at_(runtime.offsets), guard_(guard), ts_ns_(ts_ns) {}

  ReadResult run(std::uint64_t state, wire::PyFrame* frames, std::uint32_t room) {
    ReadResult read;
    std::uint64_t outer = kNoOuter;
    const std::uint64_t frame = top_frame(state, &outer);
    if (!follow(frame, outer, frames, room, &read) && outer != kNoOuter) {
      // 3.11 and 3.12 publish a new cframe before its first frame: for these few instructions the
      // innermost evaluation has no frame yet, and the outer ones are complete.
      read = ReadResult{};
      follow(outer, kNoOuter, frames, room, &read);
    }
    return read;
  }

  /// Sends the code object at `address` if this ring buffer has not seen it.
  void send_code(std::uint64_t address) {
    std::byte room[kViewBytes];
    const std::byte* code = memory_.view(address, runtime_.code_bytes, room);
    if (code != nullptr) define_once(id_of(address, code), code);
  }

 private:
  /// No frame address: frames are aligned.
  static constexpr std::uint64_t kNoOuter = 1;

  template <typename T>
  bool load(std::uint64_t address, T* out) {
    std::byte room[sizeof(T)];
    const std::byte* at = memory_.view(address, sizeof(T), room);
    if (at == nullptr) return false;
    *out = base::load<T>(at);
    return true;
  }

  /// The innermost frame; with cframes also the one the innermost run must return to.
  std::uint64_t top_frame(std::uint64_t state, std::uint64_t* outer) {
    std::uint64_t first = 0;
    if (!load(state + at_.thread_frame, &first)) return 0;
    if (at_.cframe_frame == kNone) return first;
    std::uint64_t frame = 0, previous = 0;
    if (!plausible(first) || !load(first + at_.cframe_frame, &frame)) return 0;
    if (load(first + at_.cframe_previous, &previous) && plausible(previous) &&
        !load(previous + at_.cframe_frame, outer))
      *outer = kNoOuter;
    return frame;
  }

  /// Writes the chain from `frame` on. False: the innermost run does not return to `outer`.
  bool follow(std::uint64_t frame, std::uint64_t outer, wire::PyFrame* frames, std::uint32_t room,
              ReadResult* read) {
    std::uint64_t mark = 0;
    bool first_run = outer != kNoOuter;
    bool ended = frame == 0;
    while (frame != 0) {
      if (read->count == room) {
        read->flags |= wire::kStackPythonDeep;
        return true;
      }
      wire::PyFrame& out = frames[read->count];
      std::uint64_t previous = 0;
      // A loop in the chain comes back to an address remembered at a power of two.
      if (frame == mark || !one_frame(frame, &out, &previous)) break;
      if ((read->count & (read->count + 1)) == 0) mark = frame;
      ++read->count;
      ended = at_.minor < 11 || (out.flags & (wire::kPyEntry | wire::kPyShim)) != 0;
      if (ended && first_run) {
        if (previous != outer) return false;
        first_run = false;
      }
      frame = previous;
    }
    if (frame != 0 || !ended) {
      read->flags |= wire::kStackPythonPartial;
      // Broken at once: what the new cframe holds was never a frame. Broken later: keep what is
      // there, the flag marks it.
      return !first_run || read->count != 0;
    }
    return true;
  }

  bool one_frame(std::uint64_t address, wire::PyFrame* out, std::uint64_t* previous) {
    std::byte room[kViewBytes];
    const std::byte* frame =
        plausible(address) ? memory_.view(address, runtime_.frame_bytes, room) : nullptr;
    if (frame == nullptr) return false;
    *previous = base::load<std::uint64_t>(frame + at_.frame_previous);
    if (is_shim(at_, frame)) {
      *out = wire::PyFrame{0, 0, wire::kPyShim};
      return true;
    }
    out->flags = is_entry(frame) ? wire::kPyEntry : 0;
    const auto code = base::load<std::uint64_t>(frame + at_.frame_code);
    return one_code(code & ~pointer_tag_mask(at_), frame, out);
  }

  bool is_entry(const std::byte* frame) const {
    if (at_.minor < 11) return true;
    return at_.frame_is_entry != kNone && base::load<std::uint8_t>(frame + at_.frame_is_entry) != 0;
  }

  bool one_code(std::uint64_t address, const std::byte* frame, wire::PyFrame* out) {
    std::byte room[kViewBytes];
    const std::byte* code =
        plausible(address) ? memory_.view(address, runtime_.code_bytes, room) : nullptr;
    if (code == nullptr) return false;
    if (runtime_.code_type != 0 &&
        base::load<std::uint64_t>(code + at_.object_type) != runtime_.code_type)
      return false;
    out->instr_offset = instruction_offset(at_, address, code, frame);
    out->code_id = id_of(address, code);
    define_once(out->code_id, code);
    return true;
  }

  /// Three texts are read for it, unless it is remembered.
  std::uint64_t id_of(std::uint64_t address, const std::byte* code) {
    const CodeFingerprint mark(at_);
    // Without a number the texts themselves are compared. Elsewhere that costs as much as reading
    // them.
    const bool numbered = mark.version(code) != 0;
    if (!numbered && (at_.code_version != kNone || !Memory::kOwn))
      return code_id(memory_, at_, address, code);
    const std::uint64_t is = numbered ? mark.by_version(code) : mark.by_content(code);
    std::uint64_t id = g_code_ids.find(address, is);
    if (id != 0) return id;
    id = code_id(memory_, at_, address, code);
    g_code_ids.add(address, is, id);
    return id;
  }

  void define_once(std::uint64_t id, const std::byte* code) {
    hot::RingProducer& producer = guard_.producer();
    if (producer.codes.contains(id, producer.ring.epoch())) return;
    // Only what arrived counts as sent: a fault while reading the strings leaves through longjmp.
    if (define(id, code)) producer.codes.insert(id);
  }

  bool define(std::uint64_t id, const std::byte* code) {
    memory_.clear();
    auto& names = guard_.producer().names;
    const auto half = static_cast<std::uint32_t>(sizeof names / 2);
    wire::TailPart parts[3];
    parts[0] = string_of(base::load<std::uint64_t>(code + at_.code_file), names, half);
    parts[1] =
        string_of(base::load<std::uint64_t>(code + code_name_offset(at_)), names + half, half);
    bool cut = false;
    parts[2] = table_of(base::load<std::uint64_t>(code + at_.code_table), &cut);
    wire::PyCodeDef def{id,
                        base::load<std::int32_t>(code + at_.code_first_line),
                        static_cast<std::uint16_t>(at_.minor),
                        0,
                        parts[0].bytes,
                        parts[1].bytes,
                        parts[2].bytes,
                        0};
    if (wire::frame_bytes(sizeof def, parts[0].bytes + parts[1].bytes + parts[2].bytes) >
        wire::kMaxFrameBytes) {
      parts[2] = {};
      def.table_bytes = 0;
      cut = true;
    }
    if (cut) def.flags = wire::kCodeTableCut;
    if (guard_.producer().ring.push_parts(def, ts_ns_, parts)) return true;
    hot::count_drop(wire::Kind::kPyCodeDef);
    return false;
  }

  /// A str object as UTF-8. Plain ASCII stays where it is, the rest is converted into `room`.
  wire::TailPart string_of(std::uint64_t address, std::byte* room, std::uint32_t room_bytes) {
    std::byte header_room[kViewBytes];
    const std::byte* header =
        plausible(address) ? memory_.view(address, at_.str_compact_data, header_room) : nullptr;
    if (header == nullptr) return {};
    const StrLayout shape =
        str_layout(base::load<std::uint32_t>(header + at_.str_state),
                   base::load<std::uint64_t>(header + at_.str_length), room_bytes);
    if (shape.width == 0) return {};
    const std::uint64_t data = address + (shape.ascii ? at_.str_ascii_data : at_.str_compact_data);
    const std::byte* from = memory_.keep(data, shape.units * shape.width);
    if (from == nullptr) return {};
    if (shape.ascii) return {from, shape.units};
    return {room, to_utf8(from, shape.units, shape.width, room, room_bytes)};
  }

  wire::TailPart table_of(std::uint64_t address, bool* cut) {
    std::uint64_t bytes = 0;
    if (!plausible(address) || !load(address + at_.bytes_length, &bytes) || bytes == 0) return {};
    if (bytes > wire::kMaxLineTableBytes) {
      *cut = true;
      return {};
    }
    const auto length = static_cast<std::uint32_t>(bytes);
    const std::byte* from = memory_.keep(address + at_.bytes_data, length);
    return from == nullptr ? wire::TailPart{} : wire::TailPart{from, length};
  }

  Memory& memory_;
  const Runtime& runtime_;
  const Offsets& at_;
  const hot::Guard& guard_;
  std::uint64_t ts_ns_;
};

}  // namespace gpuprof::python
