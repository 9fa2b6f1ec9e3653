// SPDX-License-Identifier: Apache-2.0
//
// How figures are spelled.
//
// Context:  cli
#include "analysis/report/advice/figure_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "analysis/messages/advice.hpp"
#include "analysis/messages/report_shared.hpp"
#include "analysis/messages/wall_time.hpp"
namespace gpuprof::report::advice {

std::string format_time(double ns) {
  if (ns >= 1e9) return fmt::format("{:.2f} s", ns / 1e9);
  if (ns >= 1e7) return fmt::format("{:.1f} ms", ns / 1e6);
  if (ns >= 1e6) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.0f} us", ns / 1e3);
}

std::string format_share(double share) {
  return share < 0.01 ? fmt::format("{:.2f} %", 100 * share) : fmt::format("{:.1f} %", 100 * share);
}

std::string format_bytes(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.1f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.0f} kB", bytes / 1e3);
  return fmt::format("{:.0f} bytes", bytes);
}

std::string format_count(double count) {
  if (count >= 9.95) return fmt::format("{:.0f}", count);
  std::string text = fmt::format("{:.1f}", count);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string format_times(double count) {
  const std::string text = format_count(count);
  return text == "1" ? std::string(messages::wall_time::kOnce)
                     : fmt::format(messages::wall_time::kTimes, text);
}

std::string_view per_step_text(const Advice& advice) {
  return advice.share_base == messages::report_shared::kShareOfRecording
             ? std::string_view(messages::advice::kInTotal)
             : std::string_view(messages::advice::kPerStep);
}

SourceLocation step_loop_location(const RuleInput& subject) {
  const std::string& loop = subject.step_thread.loop;
  const std::size_t colon = loop.rfind(':');
  if (colon == std::string::npos) return {};
  const int line = std::atoi(loop.c_str() + colon + 1);
  return {loop.substr(0, colon), "", line, line};
}

Advice make_advice(const RuleInput& subject, std::string_view rule, const SourceLocation& where,
                   double total_ns) {
  Advice advice;
  advice.rule = rule;
  advice.where = where;
  const double steps_ns = static_cast<double>(subject.step_thread.total_step_ns());
  advice.share = steps_ns > 0 ? total_ns / steps_ns : 0;
  advice.ns_per_step =
      total_ns / static_cast<double>(std::max<std::size_t>(1, subject.step_thread.steps.size()));
  advice.pid = subject.analysis.meta.pid;
  advice.rank = subject.analysis.meta.rank;
  if (subject.step_thread.is_synthetic)
    advice.share_base = messages::report_shared::kShareOfRecording;
  return advice;
}

}  // namespace gpuprof::report::advice
