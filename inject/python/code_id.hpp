// SPDX-License-Identifier: Apache-2.0
//
// What tells code objects apart that lie at one address one after the other.
//
// Context:  signal | callback | worker
// Owns:     nothing
// Promises: bounded; nothing but the code object, its names and its line table is looked at
// Not here: where another thread's bytes come from (blocked.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuprof/base/bytes.hpp"
#include "inject/python/runtime.hpp"
#include "inject/python/text.hpp"

namespace gpuprof::python {

/// Largest part of an object that is looked at in one piece.
inline constexpr std::uint32_t kViewBytes = 256;

/// Our own address space; a bad pointer ends in the fault guard of inject/sample.
struct OwnMemory {
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
      const TextShape shape =
          text_shape(base::load<std::uint32_t>(header + at_.str_state),
                     base::load<std::uint64_t>(header + at_.str_length), wire::kMaxNameBytes);
      return Span{shape.ascii ? at_.str_ascii_data : at_.str_compact_data,
                  shape.units * shape.width};
    });
  }
  /// Of a bytes object; 0: it cannot be read.
  std::uint64_t table(std::uint64_t object) const {
    return of(object, at_.bytes_data, [this](const std::byte* header) {
      const auto length = base::load<std::uint64_t>(header + at_.bytes_length);
      return Span{at_.bytes_data, length < kMostBytes ? static_cast<std::uint32_t>(length) : 0};
    });
  }

 private:
  /// Bytes hashed at either end.
  static constexpr std::uint32_t kEnd = 96;
  static constexpr std::uint64_t kMostBytes = 1u << 24;
  struct Span {
    std::uint32_t from, bytes;
  };

  template <typename SpanOf>
  std::uint64_t of(std::uint64_t object, std::uint32_t header_bytes, SpanOf span_of) const {
    if (!plausible(object)) return 0;
    std::byte room[kViewBytes];
    // Mostly more can be read than the object has: one question instead of two.
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

/// PyCodeDef::id. Addresses are used again after a code object is freed, those of its names and of
/// its line table, too: what is told of it is what the id is made of.
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
  id = base::hash_step(id, hash.text(field(name_field(at))));
  id = base::hash_step(id, hash.table(field(at.code_table)));
  return id == 0 ? 1 : id;
}

/// Changes when another code object takes the place of this one in memory, and at times when none
/// does. It is compared at every operator: the interpreter's own number of the object where there
/// is one (3.12+), else what is cheap of the content.
class CodeMark {
 public:
  explicit CodeMark(const Offsets& at) : at_(at) {}

  std::uint64_t of(std::uint64_t code) const {
    return at_.code_version != kNone ? numbered(code) : by_content(code);
  }

  std::uint64_t numbered(std::uint64_t code) const {
    return constants_and_names(code) + load<std::uint32_t>(code + at_.code_version) * kOdd[0];
  }

  /// Where they have none. Of a short text its object's head is looked at, too: that changes as
  /// little; what lies behind the object is not.
  std::uint64_t by_content(std::uint64_t code) const {
    const std::uint64_t file = word(code + at_.code_file), name = word(code + name_field(at_)),
                        table = word(code + at_.code_table);
    std::uint64_t mark = constants_and_names(code) + file * 5 + name * 7 + table * 11 +
                         load<std::uint32_t>(code + at_.code_first_line) * kOdd[0];
    // A str that serves as a name has its hash behind its length.
    if (plausible(name)) mark += word(name + at_.str_length + 8) * kOdd[1];
    if (plausible(file)) {
      const auto state = load<std::uint32_t>(file + at_.str_state);
      const std::uint64_t bytes = word(file + at_.str_length) * (state >> 2 & 7);
      const bool ascii = (state >> 6 & 1) != 0;
      mark += end(file + (ascii ? at_.str_ascii_data : at_.str_compact_data), bytes) * kOdd[2];
    }
    if (!plausible(table)) return mark;
    const std::uint64_t from = table + at_.bytes_data, bytes = word(table + at_.bytes_length);
    return mark + word(from) * kOdd[3] + word(bytes > 8 ? from + 8 : from) * kOdd[4] +
           end(from, bytes) * kOdd[5];
  }

 private:
  // Behind count, type and size; before 3.11 other fields that never change lie there.
  static constexpr std::uint32_t kConstants = 24, kNames = 32;
  static constexpr std::uint64_t kMostBytes = 1u << 24;
  // Products are added up, not chained: none waits for another.
  static constexpr std::uint64_t kOdd[] = {0x9e3779b97f4a7c15ULL, 0xa0761d6478bd642fULL,
                                           0xe7037ed1a0b428dbULL, 0x8ebc6af09c88c6e3ULL,
                                           0x589965cc75374cc3ULL, 0x1d8e4e27c47d124fULL};

  template <typename T>
  static T load(std::uint64_t at) {
    return base::load<T>(reinterpret_cast<const std::byte*>(at));
  }
  static std::uint64_t word(std::uint64_t at) { return load<std::uint64_t>(at); }
  static std::uint64_t constants_and_names(std::uint64_t code) {
    return word(code + kConstants) + word(code + kNames) * 3;
  }
  /// Of the last bytes, and of how many there are.
  static std::uint64_t end(std::uint64_t from, std::uint64_t bytes) {
    if (bytes > kMostBytes) return bytes;
    return word(from + bytes - 16) * kOdd[0] + word(from + bytes - 8) * kOdd[1] + bytes;
  }

  const Offsets& at_;
};

}  // namespace gpuprof::python
