// SPDX-License-Identifier: Apache-2.0
//
// The id of a code object, which tells it from later ones at the same address.
//
// Context:  signal | callback | worker
// Promises: bounded; nothing but the code object, its names and its line table is read
// Not here: where another thread's bytes come from (remote_frames.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuprof/base/bytes.hpp"
#include "inject/python/frames/str_object.hpp"
#include "inject/python/runtime/runtime.hpp"

namespace gpuprof::python {

/// Largest part of an object that is read in one piece.
inline constexpr std::uint32_t kViewBytes = 256;
/// No line table is this long.
inline constexpr std::uint64_t kMaxBytes = 1u << 24;

/// Our own address space. A stack walk runs inside the fault guard of inject/sample, which catches
/// a bad pointer; callbacks of operators have none: they read only code objects whose frames were
/// proven (fast_frames.hpp).
struct LocalMemory {
  /// What lies behind the bytes that were viewed can be read by plain loads.
  static constexpr bool kOwn = true;

  const std::byte* view(std::uint64_t at, std::uint32_t, std::byte*) const { return keep(at, 0); }
  const std::byte* keep(std::uint64_t at, std::uint32_t) const {
    return reinterpret_cast<const std::byte*>(at);
  }
  void clear() const {}
};

/// What a text or table holds: its first and last bytes, and how many there are.
template <typename Memory>
class ContentHash {
 public:
  ContentHash(const Memory& memory, const Offsets& at) : memory_(memory), at_(at) {}

  /// Of a str object; 0: it cannot be read.
  std::uint64_t text(std::uint64_t object) const {
    return of(object, at_.str_compact_data, [this](const std::byte* header) {
      const StrLayout shape =
          str_layout(base::load<std::uint32_t>(header + at_.str_state),
                     base::load<std::uint64_t>(header + at_.str_length), wire::kMaxNameBytes);
      return Span{shape.ascii ? at_.str_ascii_data : at_.str_compact_data,
                  shape.units * shape.width};
    });
  }
  /// Of a bytes object; 0: it cannot be read.
  std::uint64_t table(std::uint64_t object) const {
    return of(object, at_.bytes_data, [this](const std::byte* header) {
      const auto length = base::load<std::uint64_t>(header + at_.bytes_length);
      return Span{at_.bytes_data, length < kMaxBytes ? static_cast<std::uint32_t>(length) : 0};
    });
  }

 private:
  /// Bytes hashed at either end.
  static constexpr std::uint32_t kEnd = 96;
  struct Span {
    std::uint32_t from, bytes;
  };

  template <typename SpanOf>
  std::uint64_t of(std::uint64_t object, std::uint32_t header_bytes, SpanOf span_of) const {
    if (!plausible(object)) return 0;
    std::byte room[kViewBytes];
    // Usually more can be read than the object has: one view instead of two.
    const std::byte* header = memory_.view(object, header_bytes + kEnd, room);
    const bool all = header != nullptr;
    if (!all) header = memory_.view(object, header_bytes, room);
    if (header == nullptr) return 0;
    const Span span = span_of(header);
    const std::uint32_t first = span.bytes < kEnd ? span.bytes : kEnd;
    const std::byte* from = all ? header + span.from : view(object + span.from, first, room);
    if (from == nullptr) return 0;
    const std::uint64_t hash = base::hash_bytes(from, first) + span.bytes;
    if (span.bytes <= kEnd) return hash;
    from = view(object + span.from + span.bytes - kEnd, kEnd, room);
    return from == nullptr ? 0 : base::hash_step(hash, base::hash_bytes(from, kEnd));
  }
  const std::byte* view(std::uint64_t at, std::uint32_t bytes, std::byte* room) const {
    return memory_.view(at, bytes, room);
  }

  const Memory& memory_;
  const Offsets& at_;
};

/// PyCodeDef::id. Addresses are reused after a code object is freed, as are those of its names and
/// its line table: so the id is made of what is sent of it.
///
/// @param code What lies at `address`: as many bytes as Runtime::code_bytes.
template <typename Memory>
std::uint64_t code_id(const Memory& memory, const Offsets& at, std::uint64_t address,
                      const std::byte* code) {
  const ContentHash<Memory> hash(memory, at);
  const auto field = [code](std::uint32_t where) {
    return base::load<std::uint64_t>(code + where);
  };
  std::uint64_t id = base::hash_step(0x7079u, address);
  id = base::hash_step(id, base::load<std::uint32_t>(code + at.code_first_line));
  id = base::hash_step(id, hash.text(field(at.code_file)));
  id = base::hash_step(id, hash.text(field(code_name_offset(at))));
  id = base::hash_step(id, hash.table(field(at.code_table)));
  return id == 0 ? 1 : id;
}

/// Changes when another code object takes the place of this one in memory, and at times when none
/// does. It is compared at every operator: the interpreter's own number for the object where there
/// is one (3.12+), else what is cheap to read of its content.
class CodeFingerprint {
 public:
  explicit CodeFingerprint(const Offsets& at) : at_(at) {}

  std::uint64_t of(std::uint64_t code) const {
    const std::byte* bytes = at(code);
    return at_.code_version != kNone ? by_version(bytes) : by_content(bytes);
  }

  /// The interpreter's own number; 0: this version has none, or ran out of them.
  std::uint32_t version(const std::byte* code) const {
    return at_.code_version == kNone ? 0 : base::load<std::uint32_t>(code + at_.code_version);
  }
  /// @param code As many bytes as Runtime::code_bytes, wherever they were copied to.
  std::uint64_t by_version(const std::byte* code) const {
    return constants_and_names(code) + base::load<std::uint32_t>(code + at_.code_version) * kOdd[0];
  }

  /// For versions that have none. Of a short text its object's head is read, too: that changes as
  /// little; what lies behind the object is not read.
  std::uint64_t by_content(const std::byte* code) const {
    const std::uint64_t file = word(code + at_.code_file),
                        name = word(code + code_name_offset(at_)),
                        table = word(code + at_.code_table);
    std::uint64_t mark = constants_and_names(code) + file * 5 + name * 7 + table * 11 +
                         base::load<std::uint32_t>(code + at_.code_first_line) * kOdd[0];
    // A str that serves as a name has its hash behind its length.
    if (plausible(name)) mark += word(at(name + at_.str_length + 8)) * kOdd[1];
    if (plausible(file)) mark += end_of_text(at(file)) * kOdd[2];
    if (!plausible(table)) return mark;
    const std::byte* from = at(table + at_.bytes_data);
    const std::uint64_t bytes = word(at(table + at_.bytes_length));
    mark += word(from) * kOdd[3] + word(bytes > 8 ? from + 8 : from) * kOdd[4];
    return mark + (bytes > kMaxBytes ? bytes : end(from, bytes)) * kOdd[5];
  }

 private:
  // Behind count, type and size; before 3.11 other fields that never change lie there.
  static constexpr std::uint32_t kConstants = 24, kNames = 32;
  // Products are added up, not chained: none waits for another.
  static constexpr std::uint64_t kOdd[] = {0x9e3779b97f4a7c15ULL, 0xa0761d6478bd642fULL,
                                           0xe7037ed1a0b428dbULL, 0x8ebc6af09c88c6e3ULL,
                                           0x589965cc75374cc3ULL, 0x1d8e4e27c47d124fULL};

  static const std::byte* at(std::uint64_t address) {
    return reinterpret_cast<const std::byte*>(address);
  }
  static std::uint64_t word(const std::byte* at) { return base::load<std::uint64_t>(at); }
  static std::uint64_t constants_and_names(const std::byte* code) {
    return word(code + kConstants) + word(code + kNames) * 3;
  }
  /// Of the last bytes, and of how many there are.
  static std::uint64_t end(const std::byte* from, std::uint64_t bytes) {
    return word(from + bytes - 16) * kOdd[0] + word(from + bytes - 8) * kOdd[1] + bytes;
  }
  /// A subclass of str keeps its characters elsewhere: those are not read.
  std::uint64_t end_of_text(const std::byte* text) const {
    const StrLayout shape = str_layout(base::load<std::uint32_t>(text + at_.str_state),
                                       word(text + at_.str_length), wire::kMaxNameBytes);
    if (shape.width == 0) return 0;
    return end(text + (shape.ascii ? at_.str_ascii_data : at_.str_compact_data),
               std::uint64_t{shape.units} * shape.width);
  }

  const Offsets& at_;
};

}  // namespace gpuprof::python
