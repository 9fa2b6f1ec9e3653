// SPDX-License-Identifier: Apache-2.0
//
// Numbers as a JSON text spells them, without a detour by floating point.
//
// Context:  any
// Owns:     nothing
// Promises: a time in microseconds with three digits becomes exactly its nanoseconds
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprof::importer {

/// Whole numbers within 63 bits; a fraction is refused unless it is zero.
inline std::optional<std::int64_t> parse_int64(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at == text.data()) return std::nullopt;
  if (at == end) return value;
  if (*at == '.' && text.find_first_not_of('0', static_cast<std::size_t>(at - text.data()) + 1) ==
                        std::string_view::npos)
    return value;
  return std::nullopt;
}

/// The same for numbers of 64 bits without sign: addresses, bit patterns.
inline std::optional<std::uint64_t> parse_uint64(std::string_view text) {
  std::uint64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && at == text.data() + text.size() && !text.empty()) return value;
  const auto negative = parse_int64(text);
  return negative ? std::optional(static_cast<std::uint64_t>(*negative)) : std::nullopt;
}

inline std::optional<double> parse_double(std::string_view text) {
  if (text.find_first_of("xXpP ") != text.npos) return std::nullopt;  // C's own spellings
  const std::string copy(text);                                       // strtod wants its end marked
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  return copy.empty() || end != copy.c_str() + copy.size() ? std::nullopt : std::optional(value);
}

/// Later and earlier times are damage: a century from the file's zero, which may be that of the
/// calendar. Sums of a few of these stay within 63 bits.
inline constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;
inline constexpr std::int64_t kEarliestNs = -1'000'000'000'000'000'000;

/// Microseconds, with a fraction or an exponent, in nanoseconds, to the nearest.
inline std::optional<std::int64_t> parse_us_as_ns(std::string_view text) {
  std::size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++at;
  std::int64_t us = 0, fraction = 0;
  const std::size_t first = at;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    us = us * 10 + (text[at] - '0');
    if (us > kLatestNs / 1000) return std::nullopt;
  }
  if (at == first) return std::nullopt;
  if (at < text.size() && text[at] == '.') {
    ++at;
    int digits = 0;
    bool up = false;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
      if (digits < 3) fraction = fraction * 10 + (text[at] - '0');
      if (digits == 3) up = text[at] >= '5';
    }
    for (; digits < 3; ++digits) fraction *= 10;
    fraction += up ? 1 : 0;
  }
  if (at != text.size()) {
    const auto value = parse_double(text);
    if (!value || !(std::abs(*value) < static_cast<double>(kLatestNs) / 1000)) return std::nullopt;
    us = 0;
    fraction = static_cast<std::int64_t>(std::llround(std::abs(*value) * 1000));
  }
  const std::int64_t ns = negative ? -(us * 1000 + fraction) : us * 1000 + fraction;
  return ns < kEarliestNs ? std::nullopt : std::optional(ns);
}

}  // namespace gpuprof::importer
