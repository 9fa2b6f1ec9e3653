// SPDX-License-Identifier: Apache-2.0
//
// What differs between two recordings apart from times: memory, shapes, how they were made.
//
// Context:  cli
#include "analysis/report/diff/significance/context_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/messages/diff.hpp"
#include "analysis/report/diff/significance/robust_stats.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::diff {
namespace {

/// Fewer steps on a side tell nothing; from here on ranks do.
constexpr std::size_t kMinSteps = 3;
constexpr std::size_t kEnoughSteps = 8;
constexpr double kMinBytes = 1 << 20;

double usual_peak(const StepProfile& profile, const DeviceMemoryProfile& memory) {
  Values peaks;
  for (const auto& [cell, bytes] : memory.peak_by_cell)
    if (cell >= profile.warm_up) peaks.push_back(static_cast<double>(bytes));
  return median(peaks);
}

bool memory_changed(double before, double after, const Limits& limits) {
  const double difference = std::abs(after - before);
  return difference >= kMinBytes && difference >= limits.change * std::max(before, after);
}

std::string joined(const std::set<std::string>& shapes) {
  return support::join({shapes.begin(), shapes.end()}, ", ");
}

std::string fact(const StepProfile& profile, const char* key) {
  const auto found = profile.facts.find(key);
  return found == profile.facts.end() ? "" : found->second;
}

void note(ProcessDiff& diff, const char* what, const std::string& before,
          const std::string& after) {
  if (before == after || before.empty() || after.empty()) return;
  diff.notes.push_back(fmt::format(messages::diff::kDiffers, what, before, after));
}

void note_steps(const StepProfile& before, const StepProfile& after, ProcessDiff& diff) {
  const auto kept = [](const StepProfile& profile) {
    return profile.steps - std::min(profile.steps, profile.warm_up * profile.steps_per_cell);
  };
  const std::size_t fewest = std::min(kept(before), kept(after));
  diff.enough_steps = fewest >= kEnoughSteps;
  diff.too_few_steps = fewest < kMinSteps;
  if (diff.too_few_steps) {
    diff.caveats.push_back(fmt::format(messages::diff::kTooFewSteps,
                                       support::count_with_unit(fewest, "step", "steps"),
                                       kEnoughSteps));
  } else if (!diff.enough_steps) {
    diff.caveats.push_back(fmt::format(messages::diff::kFewSteps, fewest, kEnoughSteps));
  }
}

}  // namespace

void compare_memory(const StepProfile& before, const StepProfile& after, const Limits& limits,
                    ProcessDiff& diff) {
  std::set<std::int32_t> devices;
  for (const StepProfile* profile : {&before, &after})
    for (const auto& [device, memory] : profile->memory) devices.insert(device);
  for (const std::int32_t device : devices) {
    MemoryDiff& row = diff.memory.emplace_back();
    row.device = device;
    if (const auto at = before.memory.find(device); at != before.memory.end())
      row.before = at->second;
    if (const auto at = after.memory.find(device); at != after.memory.end()) row.after = at->second;
    // Where no memory was recorded at all, none appeared.
    if (before.memory.empty() || after.memory.empty()) continue;
    const double usual_before = usual_peak(before, row.before);
    const double usual_after = usual_peak(after, row.after);
    const bool in_steps = (usual_before == 0 && usual_after == 0) ||
                          memory_changed(usual_before, usual_after, limits);
    row.significant =
        in_steps && memory_changed(static_cast<double>(row.before.peak_allocated_bytes),
                                   static_cast<double>(row.after.peak_allocated_bytes), limits);
  }
}

void compare_shapes(const NameRow& before, const NameRow& after, NameDiff& row) {
  if (before.shapes.empty() || after.shapes.empty() || before.shapes == after.shapes) return;
  if (before.shapes.size() > kMaxShapes || after.shapes.size() > kMaxShapes) return;
  row.shapes_before = joined(before.shapes);
  row.shapes_after = joined(after.shapes);
}

void compare_context(const StepProfile& before, const StepProfile& after, ProcessDiff& diff) {
  if (diff.by_step) {
    note_steps(before, after, diff);
    note(diff, "steps", fact(before, "steps"), fact(after, "steps"));
  } else {
    diff.caveats.emplace_back(before.steps == 0 && after.steps == 0 ? messages::diff::kNoSteps
                                                                    : messages::diff::kStepsInOne);
  }
  note(diff, "PyTorch", fact(before, "torch.version"), fact(after, "torch.version"));
  note(diff, "Python", fact(before, "python.version"), fact(after, "python.version"));
  note(diff, "machine", before.host, after.host);
  const auto gpus = [](const StepProfile& profile) {
    return profile.gpus.empty() ? std::string(messages::diff::kNoGpus)
                                : support::join(profile.gpus, ", ");
  };
  note(diff, "GPUs", gpus(before), gpus(after));
  note(diff, "command", before.command, after.command);
  if (before.world_size != after.world_size)
    diff.notes.push_back(
        fmt::format(messages::diff::kRanksDiffer, before.world_size, after.world_size));
  if (before.other_names != 0 || after.other_names != 0)
    diff.caveats.push_back(fmt::format(messages::diff::kTooManyNames, kMaxNames, before.other_names,
                                       after.other_names));
  std::size_t other_shapes = 0;
  for (const NameDiff& row : diff.names) other_shapes += !row.shapes_before.empty();
  if (other_shapes != 0)
    diff.notes.push_back(
        fmt::format(messages::diff::kInputsDiffer,
                    support::count_with_unit(other_shapes, "operator", "operators")));
  if (before.memory.empty() != after.memory.empty())
    diff.caveats.emplace_back(before.memory.empty() ? messages::diff::kMemoryOnlyAfter
                                                    : messages::diff::kMemoryOnlyBefore);
}

}  // namespace gpuprof::report::diff
