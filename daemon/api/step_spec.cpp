// SPDX-License-Identifier: Apache-2.0
//
// --step from text.
//
// Context:  cli | daemon
#include "daemon/api/step_spec.hpp"

#include <regex.h>

#include <array>
#include <charconv>
#include <string_view>

#include "support/text.hpp"

namespace gpuprof::api {
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
  return error("--step " + in_quotes(text) +
               " names no line; write loop:FILE:LINE with the line the loop begins on, as in "
               "loop:train.py:37");
}

support::Result<StepSpec> checked_regex(StepSpec spec) {
  regex_t compiled;
  const int failure = regcomp(&compiled, spec.text.c_str(), REG_EXTENDED | REG_NOSUB);
  if (failure == 0) {
    regfree(&compiled);
    return spec;
  }
  std::array<char, 128> why{};
  regerror(failure, &compiled, why.data(), why.size());
  return error("--step kernel: " + in_quotes(spec.text) +
               " is not an extended regular expression: " + why.data() +
               "; put a backslash before a character that is meant as itself");
}

support::Result<StepSpec> named(const std::string& text, std::string_view prefix, Source source) {
  StepSpec spec{source, text.substr(prefix.size()), 0};
  if (spec.text.empty())
    return error("--step " + in_quotes(text) + " needs a " +
                 (source == Source::kNvtx ? "range's name" : "regular expression") +
                 " after the colon");
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
  return error("--step cannot be " + in_quotes(text) + "; it takes " + kStepWords);
}

}  // namespace gpuprof::api
