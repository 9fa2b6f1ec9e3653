// SPDX-License-Identifier: Apache-2.0
//
// Options of `gpuprof report`.
//
// Context:  cli
#include <fmt/format.h>

#include "cli/messages/options_values.hpp"
#include "cli/options/setters.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli::set {
namespace {

using support::error;

template <typename Number>
support::Result<Number> number_of(const char* option, const std::string& value) {
  auto number = support::parse_unsigned(value);
  if (!number) return error(fmt::format("{}: {}", option, number.error().message));
  if (number.value() > static_cast<std::uint64_t>(static_cast<Number>(~0ULL)))
    return error(
        fmt::format(messages::options_values::kTooLarge, option, support::in_quotes(value)));
  return static_cast<Number>(number.value());
}

}  // namespace

SetResult by(Options& o, const std::string& value) { return o.by = value, SetResult{}; }
SetResult html(Options& o, const std::string& value) {
  if (value.empty()) return error(messages::options_values::kEmptyPage);
  return o.html = value, SetResult{};
}
SetResult sort_by(Options& o, const std::string& value) { return o.sort_by = value, SetResult{}; }
SetResult by_input_shape(Options& o, const std::string&) {
  return o.by_input_shape = true, SetResult{};
}
SetResult csv(Options& o, const std::string&) { return o.csv = true, SetResult{}; }

SetResult by_stack(Options& o, const std::string& value) {
  GPUPROF_TRY(number, number_of<std::uint32_t>("--group-by-stack", value));
  o.by_stack = number;
  return {};
}

SetResult columns(Options& o, const std::string& value) {
  o.columns.clear();
  for (const std::string& column : support::split(value, ','))
    if (!column.empty()) o.columns.push_back(column);
  if (o.columns.empty()) return error(messages::options_values::kEmptyColumns);
  return {};
}

SetResult advice_only(Options& o, const std::string&) {
  o.advice_only = true;
  return {};
}

SetResult fail_on(Options& o, const std::string& value) {
  o.fail_on.clear();
  for (const std::string& rule : support::split(value, ','))
    if (!rule.empty()) o.fail_on.push_back(rule);
  if (o.fail_on.empty()) return error(messages::options_values::kEmptyRules);
  return {};
}

SetResult row_limit(Options& o, const std::string& value) {
  GPUPROF_TRY(number, number_of<std::uint64_t>("--row-limit", value));
  o.row_limit = number;
  return {};
}

SetResult rank(Options& o, const std::string& value) {
  GPUPROF_TRY(number, number_of<std::uint32_t>("--rank", value));
  o.rank = number;
  return {};
}

SetResult report_steps(Options& o, const std::string& value) {
  const std::size_t dash = value.find('-');
  if (dash == 0 || dash + 1 == value.size())
    return error(fmt::format(messages::options_values::kStepRange, support::in_quotes(value)));
  GPUPROF_TRY(first, number_of<std::uint64_t>("--step", value.substr(0, dash)));
  std::uint64_t last = first;
  if (dash != std::string::npos) {
    GPUPROF_TRY(number, number_of<std::uint64_t>("--step", value.substr(dash + 1)));
    last = number;
  }
  if (last < first)
    return error(
        fmt::format(messages::options_values::kStepRangeReversed, support::in_quotes(value)));
  o.report_steps = {first, last};
  return {};
}

}  // namespace gpuprof::cli::set
