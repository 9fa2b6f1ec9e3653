// SPDX-License-Identifier: Apache-2.0
//
// From a word to parts of a million.
//
// Context:  cli | daemon
// Owns:     nothing
#include "recording/session/overhead_limit.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "recording/messages/recording_options.hpp"
#include "support/text/text.hpp"

namespace gpuprof::recording {

support::Result<std::uint64_t> parse_max_overhead(const std::string& text) {
  constexpr double kMin = 0.1, kMax = 50;
  if (text == "off") return std::uint64_t{0};
  std::string_view digits = text;
  if (!digits.empty() && digits.back() == '%') digits.remove_suffix(1);
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  double percent = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, percent, std::chars_format::fixed);
  if (read.ec != std::errc() || read.ptr != end || !(percent >= kMin && percent <= kMax))
    return support::error(
        fmt::format(messages::recording_options::kWrongOverhead, support::in_quotes(text)));
  return static_cast<std::uint64_t>(std::llround(percent * 10'000));
}

}  // namespace gpuprof::recording
