// SPDX-License-Identifier: Apache-2.0
//
// Interpreter strings as UTF-8: what a str object's header says, and the conversion.
//
// Context:  any (signal-safe)
// Promises: never writes past the room it is given; cuts at a character boundary; the result is
//           valid UTF-8
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/wire/records.hpp"

namespace gpuprof::python {

/// How a str object's characters lie in memory.
struct StrLayout {
  std::uint32_t units;  // characters to read, already limited
  std::uint32_t width;  // bytes each: 1, 2, 4; 0: not a compact string
  bool ascii;
};

/// Reads the state bits of a str object.
///
/// @param limit No more than this many characters are wanted.
inline StrLayout str_layout(std::uint32_t state, std::uint64_t length, std::uint32_t limit) {
  // `interned` takes two bits, in a later layout sixteen; there the low bits make no valid kind.
  // The bits above the flags are not initialised by the interpreter and mean nothing.
  const auto valid = [](std::uint32_t bits) {
    const std::uint32_t width = (bits >> 2) & 7;
    return ((bits >> 5) & 1) != 0 && (width == 1 || width == 2 || width == 4);
  };
  if (!valid(state)) state >>= 14;
  if (!valid(state)) return {0, 0, false};
  const std::uint32_t kind = (state >> 2) & 7;
  const bool ascii = ((state >> 6) & 1) != 0;
  const std::uint64_t most = limit < wire::kMaxNameBytes ? limit : wire::kMaxNameBytes;
  return {static_cast<std::uint32_t>(length < most ? length : most), kind, ascii};
}

/// One character as UTF-8; returns its length. Surrogates become U+FFFD.
inline std::uint32_t encode_character(std::uint32_t c, unsigned char* to) {
  if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff) c = 0xfffd;
  if (c < 0x80) {
    to[0] = static_cast<unsigned char>(c);
    return 1;
  }
  const std::uint32_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr unsigned char kLead[] = {0, 0xc0, 0xe0, 0xf0};
  to[0] = static_cast<unsigned char>(kLead[more] | (c >> (6 * more)));
  for (std::uint32_t i = 1; i <= more; ++i)
    to[i] = static_cast<unsigned char>(0x80 | ((c >> (6 * (more - i))) & 0x3f));
  return more + 1;
}

/// Converts `units` characters of `width` bytes; returns the bytes written to `room`.
inline std::uint32_t to_utf8(const std::byte* from, std::uint32_t units, std::uint32_t width,
                             std::byte* room, std::uint32_t room_bytes) {
  std::uint32_t used = 0;
  for (std::uint32_t i = 0; i < units; ++i) {
    const std::byte* at = from + std::size_t{i} * width;
    const std::uint32_t c = width == 1   ? base::load<std::uint8_t>(at)
                            : width == 2 ? base::load<std::uint16_t>(at)
                                         : base::load<std::uint32_t>(at);
    unsigned char bytes[4];
    const std::uint32_t length = encode_character(c, bytes);
    if (used + length > room_bytes) break;
    for (std::uint32_t b = 0; b < length; ++b) room[used + b] = static_cast<std::byte>(bytes[b]);
    used += length;
  }
  return used;
}

}  // namespace gpuprof::python
