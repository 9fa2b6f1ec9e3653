// SPDX-License-Identifier: Apache-2.0
//
// Interpreter structures made by hand, laid out as one version's table of offsets says.
//
// Context:  tests
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "gpuprof/base/bytes.hpp"
#include "inject/python/runtime/offsets.hpp"
#include "inject/python/runtime/runtime.hpp"

namespace gpuprof::tests {

class FakeInterpreter {
 public:
  explicit FakeInterpreter(std::uint32_t minor) {
    runtime.offsets = *python::built_in_offsets(minor);
    runtime.code_type = make(64);
    runtime.address = make(8192);
    runtime.frame_bytes = 128;
    runtime.code_bytes = 256;
  }

  /// Zeroed memory that lives as long as this object.
  std::uint64_t make(std::size_t bytes) {
    memory_.push_back(std::vector<std::uint64_t>((bytes + 7) / 8));
    return reinterpret_cast<std::uint64_t>(memory_.back().data());
  }
  template <typename T>
  void put(std::uint64_t object, std::uint32_t field, T value) {
    if (field != python::kNone)
      std::memcpy(reinterpret_cast<void*>(object + field), &value, sizeof value);
  }

  std::uint64_t ascii(std::string_view text) {
    const std::uint64_t at = make(runtime.offsets.str_ascii_data + text.size());
    put<std::uint64_t>(at, runtime.offsets.str_length, text.size());
    put(at, runtime.offsets.str_length + 8, base::hash_bytes(text.data(), text.size()));
    put<std::uint32_t>(at, runtime.offsets.str_state, 0xabcd0000u | 1u << 6 | 1u << 5 | 1u << 2);
    std::memcpy(reinterpret_cast<void*>(at + runtime.offsets.str_ascii_data), text.data(),
                text.size());
    return at;
  }
  template <typename C>
  std::uint64_t wide(const std::basic_string<C>& text) {
    const std::uint64_t at = make(runtime.offsets.str_compact_data + text.size() * sizeof(C));
    put<std::uint64_t>(at, runtime.offsets.str_length, text.size());
    put<std::uint32_t>(at, runtime.offsets.str_state,
                       1u << 5 | static_cast<std::uint32_t>(sizeof(C)) << 2);
    std::memcpy(reinterpret_cast<void*>(at + runtime.offsets.str_compact_data), text.data(),
                text.size() * sizeof(C));
    return at;
  }
  std::uint64_t bytes(std::string_view text) {
    const std::uint64_t at = make(runtime.offsets.bytes_data + text.size() + 1);
    put<std::uint64_t>(at, runtime.offsets.bytes_length, text.size());
    std::memcpy(reinterpret_cast<void*>(at + runtime.offsets.bytes_data), text.data(), text.size());
    return at;
  }

  std::uint64_t code(std::uint64_t file, std::uint64_t name, std::int32_t line,
                     std::string_view table = "\x02\x01") {
    const python::Offsets& o = runtime.offsets;
    const std::uint64_t at = make(512);
    put(at, o.object_type, runtime.code_type);
    put(at, o.code_file, file);
    put(at, o.code_name, name);
    put(at, o.code_qualname, name);
    put(at, o.code_first_line, line);
    number(at);
    put(at, o.code_table, bytes(table));
    if (o.code_bytes != python::kNone) put<std::uint64_t>(at, o.bytes_length, 20);  // code units
    return at;
  }
  /// What 3.12 and newer give to each code object, the next one at an old address, too.
  void number(std::uint64_t its_code) {
    static std::uint32_t last = 0;
    put(its_code, runtime.offsets.code_version, ++last);
  }
  std::uint64_t code(std::string_view name, std::int32_t line = 1) {
    return code(ascii("train.py"), ascii(name), line);
  }

  /// A frame at byte `offset` of its code.
  std::uint64_t frame(std::uint64_t its_code, std::uint64_t previous, std::int32_t offset = 4) {
    const python::Offsets& o = runtime.offsets;
    const std::uint64_t at = make(512);
    put(at, o.frame_code, its_code);
    put(at, o.frame_previous, previous);
    if (o.minor < 11)
      put<std::int32_t>(at, o.frame_instr, o.minor == 10 && offset > 0 ? offset / 2 : offset);
    else
      put<std::uint64_t>(
          at, o.frame_instr,
          its_code + o.code_bytes + static_cast<std::uint64_t>(std::int64_t{offset}));
    return at;
  }
  void set_entry(std::uint64_t frame_at) {
    put<std::uint8_t>(frame_at, runtime.offsets.frame_is_entry, 1);
  }
  std::uint64_t shim(std::uint64_t previous) {
    const std::uint64_t at = frame(make(8), previous);
    put<std::uint8_t>(at, runtime.offsets.frame_owner, 3);
    return at;
  }

  /// A thread state whose innermost frame is `top`; `outer` is that of the cframe below it.
  std::uint64_t state(std::uint64_t top, std::uint64_t outer = 0) {
    const python::Offsets& o = runtime.offsets;
    const std::uint64_t at = make(1024);
    if (o.cframe_frame == python::kNone) {
      put(at, o.thread_frame, top);
      return at;
    }
    const std::uint64_t below = make(64), above = make(64);
    put(below, o.cframe_frame, outer);
    put(above, o.cframe_frame, top);
    put(above, o.cframe_previous, below);
    put(at, o.thread_frame, above);
    return at;
  }

  python::Runtime runtime{};

 private:
  std::deque<std::vector<std::uint64_t>> memory_;
};

}  // namespace gpuprof::tests
