// SPDX-License-Identifier: Apache-2.0
//
// Values and changes as a person reads them.
//
// Context:  cli
#include "analysis/report/diff/output/format_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/text/text.hpp"

namespace gpuprof::report::diff {

namespace {

constexpr double kMaxBytes = 1e18;  // a recording may claim anything

}  // namespace

std::string format_value(double value, Unit unit) {
  if (unit == Unit::kBytes)
    return support::human_bytes(static_cast<std::uint64_t>(std::clamp(value, 0.0, kMaxBytes)));
  if (unit == Unit::kCount)
    return value == std::round(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:.3f} s", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.3f} ms", value / 1e6);
  return fmt::format("{:.2f} us", value / 1e3);
}

std::string format_change(double before, double after) {
  if (before == 0 && after == 0) return "";
  if (before == 0) return "new";
  if (after == 0) return "gone";
  return fmt::format("{:+.1f} %", (after / before - 1) * 100);
}

std::string_view name_of(NameKind kind) {
  constexpr std::string_view kNames[] = {"operator", "range", "kernel", "copy"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string format_percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string truncate_text(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  std::size_t end = width - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace gpuprof::report::diff
