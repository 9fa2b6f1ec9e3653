// SPDX-License-Identifier: Apache-2.0
//
// Where one minor version of CPython keeps the fields we read, and how to learn it from a process.
//
// Context:  any
// Promises: parse_debug_offsets refuses what it does not know; it never reads past `bytes`
// Not here: the values (offsets_table.hpp, generated)
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::python {

/// A field that this version does not have.
inline constexpr std::uint32_t kNone = 0xffffffffu;
/// Versions 3.kOldestMinor to 3.kNewestMinor can be read.
inline constexpr std::uint32_t kOldestMinor = 8;
inline constexpr std::uint32_t kNewestMinor = 14;
/// From here on the interpreter carries its own table (`_Py_DebugOffsets`).
inline constexpr std::uint32_t kFirstSelfDescribing = 13;

/// Units: bytes from the start of the structure named by the prefix.
struct Offsets {
  std::uint32_t minor;
  std::uint32_t runtime_finalizing;    // → thread state of whoever ends Python; null before
  std::uint32_t runtime_interpreters;  // → first interpreter
  std::uint32_t runtime_current;       // → thread state that holds the GIL (before 3.12)
  std::uint32_t interp_next;
  std::uint32_t interp_threads;  // → first thread state
  std::uint32_t thread_next;
  std::uint32_t thread_id;         // pthread_t
  std::uint32_t thread_native_id;  // kernel tid (3.11+)
  std::uint32_t thread_frame;      // → frame; 3.11 and 3.12: → cframe
  std::uint32_t cframe_frame;
  std::uint32_t cframe_previous;
  std::uint32_t frame_code;
  std::uint32_t frame_previous;
  std::uint32_t frame_instr;  // int index before 3.11, then a pointer
  std::uint32_t frame_stack;  // → value stack, behind them (before 3.11)
  std::uint32_t frame_top;    // → behind the last value of that stack (3.14)
  std::uint32_t frame_owner;
  std::uint32_t frame_is_entry;
  std::uint32_t frame_locals;   // the first of its local variables
  std::uint32_t frame_globals;  // → dict
  std::uint32_t code_file;
  std::uint32_t code_name;
  std::uint32_t code_qualname;
  std::uint32_t code_first_line;
  std::uint32_t code_table;
  std::uint32_t code_bytes;    // start of the byte code (3.11+)
  std::uint32_t code_string;   // → bytes object that holds the byte code (before 3.11)
  std::uint32_t code_locals;   // → tuple of their names (3.11+)
  std::uint32_t code_version;  // a different number for every code object (3.12+)
  std::uint32_t str_length;
  std::uint32_t str_state;
  std::uint32_t str_ascii_data;
  std::uint32_t str_compact_data;
  std::uint32_t bytes_length;
  std::uint32_t bytes_data;
  std::uint32_t dict_version;  // changes with the dict
  std::uint32_t object_type;

  bool operator==(const Offsets&) const = default;
};

/// How many bytes of `_PyRuntime` parse_debug_offsets needs.
inline constexpr std::size_t kDebugOffsetsBytes = 88 * 8;

enum class DebugOffsets { kOk, kNoCookie, kOtherVersion, kFreeThreaded, kImplausible };

/// Reads the table at the start of `_PyRuntime` (3.13 and 3.14).
///
/// @param runtime First `bytes` bytes of `_PyRuntime`; at least kDebugOffsetsBytes.
/// @param minor   Version found by other means; the table must agree.
/// @param out     Filled when kOk; fields that the table does not give come from the layout rules
///                that hold since 3.12.
DebugOffsets parse_debug_offsets(const std::byte* runtime, std::size_t bytes, std::uint32_t minor,
                                 Offsets* out);

/// The built-in table of a minor version, null if there is none.
const Offsets* built_in_offsets(std::uint32_t minor);

}  // namespace gpuprof::python
