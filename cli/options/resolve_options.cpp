// SPDX-License-Identifier: Apache-2.0
//
// Checks that need more than one option: what belongs together and what excludes itself.
//
// Context:  cli
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/commands/formats.hpp"
#include "cli/messages/options_parse.hpp"
#include "cli/options/parse.hpp"
#include "gpuprof/wire/messages.hpp"
#include "recording/session/step_spec.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::error;
using support::StepsOrTime;
using OptionalQuantity = std::optional<StepsOrTime>;

recording::Extent extent_of(const OptionalQuantity& part) {
  if (!part || part->value == 0) return {};
  return {part->is_time ? recording::Extent::Unit::kTime : recording::Extent::Unit::kSteps,
          part->value};
}

/// `--delay` stands for `--wait`: both at once contradict each other.
support::Result<OptionalQuantity> exclusive_alias(const char* name, const OptionalQuantity& given,
                                                  const char* other_name,
                                                  const OptionalQuantity& other) {
  if (given && other) {
    return error(fmt::format(messages::options_parse::kSameMeaning, other_name, name));
  }
  return given ? given : other;
}

/// An error that names one option of each kind when steps and time are mixed.
support::Result<void> check_single_unit(
    const std::vector<std::pair<const char*, OptionalQuantity>>& parts) {
  const char* in_steps = nullptr;
  const char* in_time = nullptr;
  for (const auto& [name, part] : parts) {
    // A bare 0 means the same in both.
    if (!part || (part->value == 0 && !part->is_time)) continue;
    (part->is_time ? in_time : in_steps) = name;
  }
  if (in_steps == nullptr || in_time == nullptr) return {};
  return error(fmt::format(messages::options_parse::kStepsAndTime, in_steps, in_time));
}

/// Windows that follow each other faster than anything can be switched or written.
support::Result<void> check_schedule_period(const recording::ScheduleOptions& schedule) {
  constexpr std::uint64_t kMinNs = 1'000'000;
  const std::uint64_t turn = schedule.wait.value + schedule.warmup.value + schedule.active.value;
  if (schedule.active.unit != recording::Extent::Unit::kTime || schedule.repeat == 1 ||
      turn >= kMinNs)
    return {};
  return error(fmt::format(messages::options_parse::kCycleTooShort, support::human_duration(turn)));
}

/// `-o x.csv` asks for CSV as plainly as `--format csv` does.
void choose_format_by_ending(Options& options) {
  if (options.formats_given) return;
  const std::string format = commands::format_of_ending(options.output);
  if (format.empty()) return;
  options.session.formats = {format};
  options.formats_given = true;
}

}  // namespace

support::Result<void> resolve_options(Options& options) {
  choose_format_by_ending(options);
  GPUPROF_TRY(wait, exclusive_alias("--wait", options.wait, "--delay", options.delay));
  GPUPROF_TRY(active, exclusive_alias("--active", options.active, "--duration", options.duration));
  if (options.duration && options.repeat.value_or(1) != 1) {
    return error(messages::options_parse::kDurationIsOneWindow);
  }
  GPUPROF_CHECK(check_single_unit({{"--skip-first", options.skip_first},
                                   {options.delay ? "--delay" : "--wait", wait},
                                   {"--warmup", options.warmup},
                                   {options.duration ? "--duration" : "--active", active}}));
  if (active && active->value == 0) {
    return error(messages::options_parse::kEmptyWindow);
  }
  recording::ScheduleOptions& schedule = options.session.schedule;
  schedule.skip_first = extent_of(options.skip_first);
  schedule.wait = extent_of(wait);
  schedule.warmup = extent_of(options.warmup);
  schedule.active = extent_of(active);
  schedule.repeat = options.duration ? 1 : options.repeat.value_or(0);
  GPUPROF_CHECK(check_schedule_period(schedule));
  schedule.given = options.skip_first || wait || options.warmup || active || options.repeat;
  if (options.repeat && !active) {
    return error(messages::options_parse::kRepeatNeedsActive);
  }
  const bool steps = schedule.given && schedule.active.unit != recording::Extent::Unit::kTime &&
                     schedule.wait.unit != recording::Extent::Unit::kTime &&
                     schedule.skip_first.unit != recording::Extent::Unit::kTime &&
                     schedule.warmup.unit != recording::Extent::Unit::kTime;
  if (steps && options.session.step == "none") {
    return error(messages::options_parse::kStepsWithoutStep);
  }
  GPUPROF_TRY(step, recording::parse_step(options.session.step));
  const bool operators = (options.session.trace & wire::kTraceTorch) != 0;
  if (options.session.trace_given && !operators && step.among_operators() &&
      step.source != recording::StepSpec::Source::kAuto) {
    return error(fmt::format(messages::options_parse::kStepNeedsOperators, options.session.step));
  }
  if (options.quiet && options.verbose) return error(messages::options_parse::kQuietAndVerbose);
  return {};
}

}  // namespace gpuprof::cli
