// SPDX-License-Identifier: Apache-2.0
//
// Which parts of a recording the timeline shows.
//
// Context:  cli
#include "analysis/report/page/slice_selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/messages/page.hpp"

namespace gpuprof::report::page {
namespace {

const model::Window* window_of(const StepRow& step, const std::vector<model::Window>& windows) {
  for (const model::Window& window : windows)
    if (window.index == step.window) return &window;
  return windows.empty() ? nullptr : &windows.front();
}

model::Window cut(const model::Window& window, std::uint64_t start_ns, std::uint64_t end_ns) {
  model::Window part = window;
  part.start_ns = start_ns;
  part.end_ns = end_ns;
  return part;
}

std::uint64_t events_in(const std::vector<spool::BlockSummary>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& block) { return sum + block.events; });
}

double per_ns(const spool::BlockSummary& block) {
  return static_cast<double>(block.events) /
         static_cast<double>(std::max<std::uint64_t>(block.max_ns - block.min_ns, 1000));
}

}  // namespace

std::vector<TimelineInterval> select_steps(const Steps& steps,
                                           const std::vector<model::Window>& windows) {
  const std::vector<StepRow>& rows = steps.steps;
  if (rows.empty() || steps.is_synthetic) return {};
  std::vector<std::size_t> by_length(rows.size());
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  // What the first step does is shown as the first one.
  std::erase_if(by_length, [&rows](std::size_t step) { return rows[step].warm_up; });
  std::stable_sort(by_length.begin(), by_length.end(), [&rows](std::size_t a, std::size_t b) {
    return rows[a].length_ns() < rows[b].length_ns();
  });
  std::map<std::size_t, std::string> wanted;
  const auto want = [&wanted](std::size_t step, std::string_view why) {
    std::string& title = wanted[step];
    title += fmt::format("{}{}", title.empty() ? "" : ", ", why);
  };
  want(0, "first");
  const bool others = rows.size() > 1 && !by_length.empty();
  if (others && rows.size() > 2) want(by_length[by_length.size() / 2], "median");
  if (others) want(by_length.back(), "slowest");
  std::vector<TimelineInterval> out;
  for (const auto& [at, why] : wanted) {
    const StepRow& step = rows[at];
    const model::Window* window = window_of(step, windows);
    if (window == nullptr) continue;
    out.push_back({fmt::format("step {} ({})", step.label, why),
                   cut(*window, std::min(step.start_ns, step.host_start_ns),
                       std::max(step.end_ns, step.host_end_ns))});
  }
  return out;
}

std::vector<TimelineInterval> select_busiest(const std::vector<spool::BlockSummary>& blocks,
                                             const model::Window& window, std::size_t events) {
  std::vector<spool::BlockSummary> timed;
  std::copy_if(blocks.begin(), blocks.end(), std::back_inserter(timed),
               [](const auto& block) { return block.events > 0; });
  if (timed.empty()) return {};
  if (events_in(timed) <= events) {
    const auto [first, last] =
        std::minmax_element(timed.begin(), timed.end(),
                            [](const auto& a, const auto& b) { return a.min_ns < b.min_ns; });
    std::uint64_t end_ns = last->max_ns;
    for (const auto& block : timed) end_ns = std::max(end_ns, block.max_ns);
    return {{messages::page::kWholeRecording, cut(window, std::max(window.start_ns, first->min_ns),
                                                  std::min(window.end_ns, end_ns + 1))}};
  }
  const auto best = std::max_element(timed.begin(), timed.end(), [](const auto& a, const auto& b) {
    return per_ns(a) < per_ns(b);
  });
  return {{messages::page::kBusiestSection, cut(window, std::max(window.start_ns, best->min_ns),
                                                std::min(window.end_ns, best->max_ns + 1))}};
}

}  // namespace gpuprof::report::page
