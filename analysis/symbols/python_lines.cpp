// SPDX-License-Identifier: Apache-2.0
//
// Decoders of the line tables: one function a format.
//
// Context:  daemon | cli
#include "analysis/symbols/python_lines.hpp"

namespace gpuprof::symbols {
namespace {

/// What the target sends for an instruction pointer outside the byte code.
constexpr std::int32_t kOffsetUnknown = 0x7fffffff;

std::uint8_t byte_at(std::string_view table, std::size_t i) {
  return static_cast<std::uint8_t>(table[i]);
}

/// 3.8, 3.9: pairs (bytes of code, signed line change); the change counts from there on.
int line_from_lnotab(std::string_view table, int first_line, std::int64_t offset) {
  std::int64_t address = 0;
  std::int64_t line = first_line;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    address += byte_at(table, i);
    if (address > offset) break;
    line += static_cast<std::int8_t>(table[i + 1]);
  }
  return static_cast<int>(line);
}

/// 3.10: the same pairs, but each describes the range it spans; -128 means no line.
int line_from_ranges(std::string_view table, int first_line, std::int64_t offset) {
  constexpr int kNoLine = -128;
  std::int64_t end = 0;
  std::int64_t line = first_line;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    end += byte_at(table, i);
    const int change = static_cast<std::int8_t>(table[i + 1]);
    if (change != kNoLine) line += change;
    if (offset < end) return change == kNoLine ? 0 : static_cast<int>(line);
  }
  return 0;
}

/// Six bits a byte, low ones first; bit 6: more follows.
std::uint64_t varint(std::string_view table, std::size_t* at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; *at < table.size() && shift < 36; shift += 6) {
    const std::uint8_t byte = byte_at(table, (*at)++);
    value |= std::uint64_t{byte & 63u} << shift;
    if ((byte & 64) == 0) break;
  }
  return value;
}

std::int64_t signed_varint(std::string_view table, std::size_t* at) {
  const std::uint64_t value = varint(table, at);
  const auto magnitude = static_cast<std::int64_t>(value >> 1);
  return (value & 1) != 0 ? -magnitude : magnitude;
}

/// 3.11 and later: one entry for each run of code units, with columns, which are skipped.
int line_from_locations(std::string_view table, int first_line, std::int64_t offset) {
  std::int64_t end = 0;
  std::int64_t line = first_line;
  for (std::size_t at = 0; at < table.size();) {
    const std::uint8_t head = byte_at(table, at++);
    const unsigned kind = (head >> 3) & 15u;
    end += 2 * ((head & 7) + 1);
    if (kind >= 10 && kind <= 12) line += kind - 10;
    if (kind == 13 || kind == 14) line += signed_varint(table, &at);
    if (offset < end) return kind == 15 ? 0 : static_cast<int>(line);
    // Only the first byte of an entry has its top bit set.
    while (at < table.size() && (byte_at(table, at) & 0x80) == 0) ++at;
  }
  return 0;
}

}  // namespace

int python_line(std::string_view table, std::uint16_t py_minor, std::int32_t first_line,
                std::int32_t instr_offset) {
  if (instr_offset < 0) return first_line;
  if (instr_offset == kOffsetUnknown) return 0;
  if (py_minor < 10) return line_from_lnotab(table, first_line, instr_offset);
  if (py_minor == 10) return line_from_ranges(table, first_line, instr_offset);
  return line_from_locations(table, first_line, instr_offset);
}

}  // namespace gpuprof::symbols
