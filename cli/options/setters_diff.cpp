// SPDX-License-Identifier: Apache-2.0
//
// Options of `gpuprof diff`.
//
// Context:  cli
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cli/messages/options_values.hpp"
#include "cli/options/setters.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli::set {
namespace {

constexpr int kTrouble = 2;

/// `5%` or `5` as 0.05.
support::Result<double> percent(const char* option, const std::string& value) {
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto [at, problem] = std::from_chars(value.data(), end, number);
  const bool good = problem == std::errc() && std::isfinite(number) && number >= 0 &&
                    number <= 1000 && (at == end || (at + 1 == end && *at == '%'));
  if (!good)
    return support::error(
        fmt::format(messages::options_values::kPercentage, option, support::in_quotes(value)),
        kTrouble);
  return number / 100;
}

}  // namespace

SetResult fail_if(Options& o, const std::string& value) {
  o.fail_if.push_back(value);
  return {};
}
SetResult min_change(Options& o, const std::string& value) {
  GPUPROF_TRY(ratio, percent("--min-change", value));
  o.min_change = ratio;
  return {};
}
SetResult min_share(Options& o, const std::string& value) {
  GPUPROF_TRY(ratio, percent("--min-share", value));
  o.min_share = ratio;
  return {};
}

}  // namespace gpuprof::cli::set
