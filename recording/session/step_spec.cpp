// SPDX-License-Identifier: Apache-2.0
//
// --step from text.
//
// Context:  cli | daemon
#include "recording/session/step_spec.hpp"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "recording/messages/recording_options.hpp"
#include "support/text/text.hpp"

namespace gpuprof::recording {
namespace {

using support::error;
using support::in_quotes;
using Source = StepSpec::Source;

support::Result<StepSpec> loop_at(const std::string& text, std::string_view place) {
  StepSpec spec{Source::kLoop, {}, 0};
  const std::size_t colon = place.rfind(':');
  if (colon != std::string_view::npos && colon != 0) {
    const std::string_view digits = place.substr(colon + 1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), spec.line);
    if (read.ec == std::errc() && read.ptr == digits.data() + digits.size() && spec.line != 0) {
      spec.text = place.substr(0, colon);
      return spec;
    }
  }
  return error(fmt::format(messages::recording_options::kStepWithoutLine, in_quotes(text)));
}

/// How many copies of a part the bounds in braces ask for, multiplied: they may be nested.
std::uint64_t copies_in(std::string_view regex) {
  constexpr std::uint64_t kMax = 1'000'000;
  std::uint64_t copies = 1, number = 0, largest = 1;
  bool inside = false;
  for (const char c : regex) {
    if (c == '{') inside = true, number = 0, largest = 1;
    if (!inside) continue;
    const bool digit = c >= '0' && c <= '9';
    number = digit ? std::min(number * 10 + static_cast<std::uint64_t>(c - '0'), kMax) : 0;
    largest = std::max(largest, number);
    if (c != '}') continue;
    copies = std::min(copies * largest, kMax);
    inside = false;
  }
  return copies;
}

support::Result<StepSpec> checked_regex(StepSpec spec) {
  // The C library makes the copies, also in the program: with (x{1,255}){1,255} gigabytes of them.
  constexpr std::uint64_t kMaxCharacters = 4096;
  if (copies_in(spec.text) * spec.text.size() > kMaxCharacters)
    return error(fmt::format(messages::recording_options::kStepTooLarge, in_quotes(spec.text)));
  regex_t compiled;
  const int failure = regcomp(&compiled, spec.text.c_str(), REG_EXTENDED | REG_NOSUB);
  if (failure == 0) {
    regfree(&compiled);
    return spec;
  }
  std::array<char, 128> why{};
  regerror(failure, &compiled, why.data(), why.size());
  return error(
      fmt::format(messages::recording_options::kStepNotRegex, in_quotes(spec.text), why.data()));
}

support::Result<StepSpec> named(const std::string& text, std::string_view prefix, Source source) {
  StepSpec spec{source, text.substr(prefix.size()), 0};
  if (spec.text.empty())
    return error(
        source == Source::kNvtx
            ? fmt::format(messages::recording_options::kStepWithoutRange, in_quotes(text))
            : fmt::format(messages::recording_options::kStepWithoutRegex, in_quotes(text)));
  return source == Source::kKernel ? checked_regex(spec) : spec;
}

}  // namespace

support::Result<StepSpec> parse_step(const std::string& text) {
  constexpr struct {
    std::string_view word;
    Source source;
  } kWords[] = {{"auto", Source::kAuto},
                {"user", Source::kUser},
                {"loop", Source::kLoop},
                {"optimizer", Source::kOptimizer},
                {"none", Source::kNone}};
  for (const auto& [word, source] : kWords)
    if (text == word) return StepSpec{source, {}, 0};
  const std::string_view view = text;
  if (view.substr(0, 5) == "loop:") return loop_at(text, view.substr(5));
  if (view.substr(0, 5) == "nvtx:") return named(text, "nvtx:", Source::kNvtx);
  if (view.substr(0, 7) == "kernel:") return named(text, "kernel:", Source::kKernel);
  return error(
      fmt::format(messages::recording_options::kUnknownStep, kStepSyntax, in_quotes(text)));
}

}  // namespace gpuprof::recording
