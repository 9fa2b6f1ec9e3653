// SPDX-License-Identifier: Apache-2.0
//
// Reads the interpreter's own table of offsets.
//
// Context:  worker
#include "inject/python/runtime/offsets.hpp"

#include <cstring>

#include "gpuprof/base/bytes.hpp"
#include "inject/python/runtime/offsets_table.hpp"

namespace gpuprof::python {
namespace {

/// Index, in 64-bit words, of the groups of `_Py_DebugOffsets`. Each group is a run of words that
/// starts with the structure's size.
struct Groups {
  std::uint32_t interpreter, thread, frame, code, object, bytes, text;
};
// 3.14 adds threads_main and two generation counters to the interpreter, stackpointer and an index
// of thread-local bytecode to the frame, that bytecode to the code, and a group for sets.
constexpr Groups k313{6, 19, 28, 34, 44, 64, 67};
constexpr Groups k314{6, 22, 31, 39, 50, 74, 77};

constexpr std::uint32_t kRuntimeSize = 3;
constexpr std::uint32_t kRuntimeFinalizing = 4;
constexpr std::uint32_t kRuntimeInterpreters = 5;
/// No field of a structure we read lies further in than this.
constexpr std::uint64_t kFarthest = 1u << 20;

/// Word `index`, remembering whether all words so far were possible offsets.
struct Words {
  const std::byte* at;
  bool plausible = true;

  std::uint32_t operator()(std::uint32_t index) {
    const auto word = base::load<std::uint64_t>(at + index * 8);
    if (word >= kFarthest) plausible = false;
    return static_cast<std::uint32_t>(word);
  }
};

void fill(Words& word, const Groups& group, Offsets* out) {
  out->runtime_finalizing = word(kRuntimeFinalizing);
  out->runtime_interpreters = word(kRuntimeInterpreters);
  out->interp_next = word(group.interpreter + 2);
  out->interp_threads = word(group.interpreter + 3);
  out->thread_next = word(group.thread + 2);
  out->thread_frame = word(group.thread + 4);
  out->thread_id = word(group.thread + 5);
  out->thread_native_id = word(group.thread + 6);
  out->frame_previous = word(group.frame + 1);
  out->frame_code = word(group.frame + 2);
  out->frame_instr = word(group.frame + 3);
  out->frame_locals = word(group.frame + 4);
  out->frame_owner = word(group.frame + 5);
  out->code_file = word(group.code + 1);
  out->code_name = word(group.code + 2);
  out->code_qualname = word(group.code + 3);
  out->code_table = word(group.code + 4);
  out->code_first_line = word(group.code + 5);
  out->code_locals = word(group.code + 7);
  out->code_bytes = word(group.code + 9);
  out->object_type = word(group.object + 1);
  out->bytes_length = word(group.bytes + 1);
  out->bytes_data = word(group.bytes + 2);
  out->str_state = word(group.text + 1);
  out->str_length = word(group.text + 2);
  out->str_ascii_data = word(group.text + 3);
  // A compact string adds its UTF-8 length and pointer to the ASCII header.
  out->str_compact_data = out->str_ascii_data + 16;
}

/// A group too many before these would shift them: an object is a count and a type, bytes and text
/// begin after it, on every 64-bit build.
bool fits(Words& word, const Groups& group) {
  return word(group.object) == 16 && word(group.object + 1) == 8 && word(group.bytes + 1) == 16 &&
         word(group.bytes + 2) == 32 && word(group.text + 1) == 32 && word(group.text + 3) == 40;
}

}  // namespace

DebugOffsets parse_debug_offsets(const std::byte* runtime, std::size_t bytes, std::uint32_t minor,
                                 Offsets* out) {
  if (bytes < kDebugOffsetsBytes || std::memcmp(runtime, "xdebugpy", 8) != 0)
    return DebugOffsets::kNoCookie;
  const auto version = base::load<std::uint64_t>(runtime + 8);
  if ((version >> 16) != (0x300 | minor) || minor < kFirstSelfDescribing || minor > kNewestMinor)
    return DebugOffsets::kOtherVersion;
  if (base::load<std::uint64_t>(runtime + 16) != 0) return DebugOffsets::kFreeThreaded;
  Words word{runtime};
  const Groups& group = minor == 13 ? k313 : k314;
  Offsets found{};
  found.minor = minor;
  found.runtime_current = found.cframe_frame = found.cframe_previous = found.frame_is_entry = kNone;
  found.code_string = found.frame_stack = kNone;
  found.frame_globals = found.dict_version = kNone;
  // Not in its own table.
  if (const Offsets* usual = built_in_offsets(minor); usual != nullptr) {
    found.frame_globals = usual->frame_globals;
    found.dict_version = usual->dict_version;
  }
  fill(word, group, &found);
  found.code_version = found.code_locals - 4;
  found.frame_top = minor >= 14 ? word(group.frame + 6) : kNone;
  const auto runtime_bytes = base::load<std::uint64_t>(runtime + kRuntimeSize * 8);
  if (!fits(word, group) || !word.plausible || found.runtime_interpreters >= runtime_bytes ||
      found.runtime_finalizing >= runtime_bytes)
    return DebugOffsets::kImplausible;
  *out = found;
  return DebugOffsets::kOk;
}

const Offsets* built_in_offsets(std::uint32_t minor) {
  for (const Offsets& table : kOffsets)
    if (table.minor == minor) return &table;
  return nullptr;
}

}  // namespace gpuprof::python
