// SPDX-License-Identifier: Apache-2.0
//
// Time of the stepping thread between operators: Python of the program, sleeps, files.
//
// Context:  cli
#include <fmt/format.h>

#include <algorithm>

#include "analysis/messages/advice_host.hpp"
#include "analysis/messages/report_shared.hpp"
#include "analysis/report/advice/figure_text.hpp"
#include "analysis/report/advice/host_patterns.hpp"
#include "analysis/report/advice/rules.hpp"
#include "analysis/report/step_thread/source_lines.hpp"

namespace gpuprof::report::advice {
namespace {

/// Of the step, at one place; ordinary Python between two operators stays far below.
constexpr double kHostShare = 0.02;
/// The same where a sample or the program's source code says that the line waits.
constexpr double kWaitingShare = 0.001;
/// Half of the gaps are at least that long: a thread that lost its processor now and then is not
/// the program's fault.
constexpr std::uint64_t kMedianNs = 100'000;
constexpr std::uint64_t kWaitingMedianNs = 300'000;
constexpr std::uint64_t kMinHits = 2, kManyHits = 4;
constexpr std::uint64_t kMinGaps = 3;
constexpr std::uint64_t kRarePlaceNs = 2'000'000;

struct Place {
  SourceLocation where;
  std::string_view by;  // who knew the line
  bool waits = false;
};

/// The line of most samples in these gaps; else what the text between both lines says.
Place place_of(const StepThread& step_thread, const HostGap& gap, SourceLines* sources) {
  const StackFrame& before = step_thread.places.frames[gap.before];
  const StackFrame& after = step_thread.places.frames[gap.after];
  Place place;
  if (gap.before == 0) return place;
  if (!gap.hits.empty() && gap.hits[0].on_cpu + gap.hits[0].off_cpu >= kMinHits) {
    place.where = location_of(step_thread, gap.hits[0].frame);
    place.by = messages::report_shared::kLineBySamples;
    place.waits = gap.hits[0].off_cpu >= kMinHits;
    return place;
  }
  place.where = location_of(step_thread, gap.before);
  place.by = messages::report_shared::kLineByNeighbours;
  if (before.line == after.line) return place;
  const SourceLines::LineSpan span = sources->lines_between(before.file, before.line, after.line);
  place.where.line = span.first;
  place.where.last_line = span.last;
  place.waits = span.waits;
  if (span.from_text) place.by = messages::report_shared::kLineBySourceCode;
  if (!gap.hits.empty() && !span.waits) {
    const StackFrame& hit = step_thread.places.frames[gap.hits[0].frame];
    if (hit.file == before.file && hit.line >= span.first && hit.line <= span.last) {
      place.where = location_of(step_thread, gap.hits[0].frame);
      place.by = messages::report_shared::kLineBySamples;
    }
  }
  return place;
}

bool is_slow(const StepThread& step_thread, const HostGap& gap, const Place& place) {
  const double steps_ns = static_cast<double>(step_thread.total_step_ns());
  // What it would be if all gaps were as the usual one.
  const double share = static_cast<double>(gap.median_ns * gap.count) / steps_ns;
  if (gap.count < kMinGaps && !step_thread.is_synthetic) return false;
  // Nothing of the program lies between: it is backward() that has not come back yet.
  const bool same_line = place.where.line == step_thread.places.frames[gap.before].line;
  if (same_line && 2 * gap.after_backward >= gap.count) return false;
  if (place.waits && share >= kWaitingShare && gap.median_ns >= kWaitingMedianNs) return true;
  if (share >= kHostShare && gap.median_ns >= kMedianNs) return true;
  // Now and then, but long: only where samples saw it at work or waiting there.
  std::uint64_t hits = 0;
  for (const HostGap::LineSamples& hit : gap.hits) hits += hit.on_cpu + hit.off_cpu;
  const double without_longest = static_cast<double>(gap.total_ns - gap.longest_ns);
  return hits >= kManyHits && gap.longest_ns >= kRarePlaceNs &&
         without_longest >= kHostShare * steps_ns;
}

/// A line that is reported because of single steps; usually nothing much happens there.
bool is_stall(const RuleInput& subject, const HostGap& gap, const Place& place) {
  const auto& stretches = subject.analysis.wall.slow_spots;
  return gap.median_ns < kMedianNs &&
         std::any_of(stretches.begin(), stretches.end(), [&](const SlowSpot& stretch) {
           return stretch.part == WallPhase::kSteps && stretch.activity.file == place.where.file &&
                  stretch.activity.line <= place.where.line &&
                  place.where.line <= stretch.activity.last_line;
         });
}

std::string gap_text(const StepThread& step_thread, const HostGap& gap, bool waits,
                     const Advice& advice) {
  const std::string& before = step_thread.names[gap.op_before];
  const std::string& after = step_thread.names[gap.op_after];
  const int line_before = step_thread.places.frames[gap.before].line;
  const int line_after = step_thread.places.frames[gap.after].line;
  const std::string time = format_time(advice.ns_per_step);
  return waits ? fmt::format(messages::advice_host::kOwnCodeWaits, before, line_before, after,
                             line_after, time, per_step_text(advice))
               : fmt::format(messages::advice_host::kOwnCode, before, line_before, after,
                             line_after, time, per_step_text(advice));
}

Advice advice_of(const RuleInput& subject, const HostGap& gap, const Place& place) {
  const StepThread& step_thread = subject.step_thread;
  Advice advice = make_advice(subject, kHostCode, place.where, static_cast<double>(gap.total_ns));
  const double per_step =
      static_cast<double>(gap.count) / static_cast<double>(step_thread.steps.size());
  advice.finding = gap_text(step_thread, gap, place.waits, advice);
  advice.suggestion =
      place.waits ? messages::advice_host::kTryNoWait : messages::advice_host::kTryOutOfLoop;
  std::uint64_t running = 0, blocked = 0;
  for (const HostGap::LineSamples& hit : gap.hits) {
    running += hit.on_cpu;
    blocked += hit.off_cpu;
  }
  advice.figures = {{"gaps_per_step", per_step},
                    {"mean_ns", static_cast<double>(gap.total_ns) / static_cast<double>(gap.count)},
                    {"median_ns", static_cast<double>(gap.median_ns)},
                    {"longest_ns", static_cast<double>(gap.longest_ns)},
                    {"running_samples", static_cast<double>(running)},
                    {"blocked_samples", static_cast<double>(blocked)}};
  advice.line_source = place.by;
  return advice;
}

}  // namespace

void host_code(const RuleInput& subject, AdviceList* found) {
  const StepThread& step_thread = subject.step_thread;
  if (step_thread.total_step_ns() == 0) return;
  SourceLines sources(step_thread.start_real_ns);
  for (const HostGap& gap : find_gaps(step_thread)) {
    const double share =
        static_cast<double>(gap.total_ns) / static_cast<double>(step_thread.total_step_ns());
    if (share < kWaitingShare) break;  // most first
    if (gap.before == 0) continue;
    const Place place = place_of(step_thread, gap, &sources);
    if (is_stall(subject, gap, place)) continue;
    if (is_slow(step_thread, gap, place)) found->push_back(advice_of(subject, gap, place));
  }
}

}  // namespace gpuprof::report::advice
