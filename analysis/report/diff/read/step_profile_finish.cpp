// SPDX-License-Identifier: Apache-2.0
//
// Adds up what a file shows of a process, by name and step: what is known only at the end.
//
// Context:  cli
#include <algorithm>

#include "analysis/report/diff/read/step_profile_sink.hpp"

namespace gpuprof::report::diff {
namespace {

/// More operators around one are not looked at.
constexpr int kMaxParents = 64;

}  // namespace

void StepProfileSink::add_gpu_work(const PendingGpuWork& event, std::uint32_t cell) {
  if (cell == kNone) return;
  StepCell& sums = cell_of(event.name, cell);
  sums.calls += 1;
  sums.self_device_ns += static_cast<float>(event.ns);
  sums.total_device_ns += static_cast<float>(event.ns);
  measure(static_cast<StepMeasure>(event.measure), cell, static_cast<double>(event.ns));
  if (static_cast<StepMeasure>(event.measure) == StepMeasure::kKernel)
    measure(StepMeasure::kKernels, cell, 1);
}

void StepProfileSink::end() {
  for (const PendingGpuWork& event : unsettled_) {
    const auto at = launch_cells_.find(event.correlation);
    add_gpu_work(event, at == launch_cells_.end() ? kNone : at->second);
  }
  add_launcher_time();
  add_busy_time();
  unsettled_.clear();
  launchers_.clear();
  launch_cells_.clear();
  inside_.clear();
  enclosable_.clear();
  shape_texts_.clear();
}

/// GPU time counts to the operator that launched it and to those around.
void StepProfileSink::add_launcher_time() {
  for (const auto& [id, launcher] : launchers_) {
    if (launcher.ns == 0 || launcher.name == kNone || launcher.cell == kNone) continue;
    const auto ns = static_cast<float>(launcher.ns);
    cell_of(launcher.name, launcher.cell).self_device_ns += ns;
    std::vector<std::uint32_t> done;
    const Launcher* at = &launcher;
    for (int i = 0; i < kMaxParents && at->name != kNone; ++i) {
      if (std::find(done.begin(), done.end(), at->name) == done.end()) {
        done.push_back(at->name);
        cell_of(at->name, launcher.cell).total_device_ns += ns;
      }
      const auto parent = launchers_.find(at->parent);
      if (parent == launchers_.end()) break;
      at = &parent->second;
    }
  }
}

/// Time in which anything ran on any GPU, cut at the borders of steps or slices.
void StepProfileSink::add_busy_time() {
  std::sort(busy_.begin(), busy_.end());
  std::uint64_t reached = 0;
  for (const auto& [start, end] : busy_) {
    std::uint64_t at = std::max(start, reached);
    reached = std::max(reached, end);
    while (at < end) {
      const std::uint32_t cell = cell_at(at);
      const std::uint64_t boundary = std::min(end, next_boundary(at));
      measure(StepMeasure::kGpuBusy, cell, static_cast<double>(boundary - at));
      at = boundary;
    }
  }
  busy_.clear();
}

std::uint64_t StepProfileSink::next_boundary(std::uint64_t ns) const {
  if (slice_ns_ != 0) {
    const std::uint64_t since = ns < window_.start_ns ? 0 : ns - window_.start_ns;
    const std::uint64_t at = window_.offset_ns + since;
    // All that is later counts for the last one.
    return at / slice_ns_ >= kSliceCount - 1 ? ~0ULL : ns + slice_ns_ - at % slice_ns_;
  }
  for (std::size_t i = last_step_; i < window_.steps.size(); ++i) {
    if (window_.steps[i].first > ns) return window_.steps[i].first;
    if (window_.steps[i].second > ns) return window_.steps[i].second;
  }
  return ~0ULL;
}

/// Two cells become one.
void StepProfileSink::merge_cells() {
  profile_.steps_per_cell *= 2;
  for (auto& values : profile_.by_cell) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % 2 == 0) values[i / 2] = values[i];
      if (i % 2 == 1) values[i / 2] += values[i];
    }
    values.resize((values.size() + 1) / 2);
  }
  for (NameRow& row : profile_.names) {
    std::vector<StepCell> old;
    old.swap(row.cells);
    for (StepCell& cell : old) {
      cell.index /= 2;
      if (row.cells.empty() || row.cells.back().index != cell.index) {
        row.cells.push_back(cell);
        continue;
      }
      StepCell& sum = row.cells.back();
      sum.calls += cell.calls;
      sum.self_ns += cell.self_ns;
      sum.total_ns += cell.total_ns;
      sum.self_device_ns += cell.self_device_ns;
      sum.total_device_ns += cell.total_device_ns;
    }
  }
  for (auto& [device, memory] : profile_.memory) {
    std::map<std::uint32_t, std::uint64_t> peaks;
    for (const auto& [cell, bytes] : memory.peak_by_cell)
      peaks[cell / 2] = std::max(peaks[cell / 2], bytes);
    memory.peak_by_cell = std::move(peaks);
  }
}

void StepProfileSink::finish() {
  for (const auto& [key, edge] : edges_)
    profile_.calls.push_back({static_cast<std::uint32_t>(key >> 32),
                              static_cast<std::uint32_t>(key), edge.calls, edge.ns});
  std::sort(profile_.calls.begin(), profile_.calls.end(), [](const CallEdge& a, const CallEdge& b) {
    return a.parent != b.parent ? a.parent < b.parent : a.child < b.child;
  });
  if (slice_ns_ != 0) {
    measure(StepMeasure::kLength, kSliceCount - 1, 0);
    auto& lengths = profile_.by_cell[static_cast<std::size_t>(StepMeasure::kLength)];
    std::fill(lengths.begin(), lengths.end(), static_cast<double>(slice_ns_));
    return;
  }
  const std::size_t per_cell = profile_.steps_per_cell;
  const auto steps_in = [&](std::size_t cell) {
    return static_cast<double>(std::min(per_cell, profile_.steps - cell * per_cell));
  };
  for (auto& values : profile_.by_cell)
    for (std::size_t i = 0; i < values.size(); ++i) values[i] /= steps_in(i);
  for (NameRow& row : profile_.names) {
    for (StepCell& cell : row.cells) {
      const auto steps = static_cast<float>(steps_in(cell.index));
      for (float* sum : {&cell.calls, &cell.self_ns, &cell.total_ns, &cell.self_device_ns,
                         &cell.total_device_ns})
        *sum /= steps;
    }
  }
}

}  // namespace gpuprof::report::diff
