// SPDX-License-Identifier: Apache-2.0
//
// From samples to slices.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/resolve/sample_slices.hpp"

#include <algorithm>

namespace gpuprof::exporter {

std::string_view SampleSlices::text_of(StackFormatter::Frame frame, const StackFormatter& stacks) {
  switch (frame) {
    case kBlocked:
      return "(blocked)";
    case kNoStack:
      return "(no stack)";
    case kTruncated:
      return "(deeper frames not drawn)";
    default:
      return stacks.name(frame);
  }
}

/// Closes what is open and not wanted, opens the rest.
void SampleSlices::change(std::uint32_t tid, Track& track, std::uint64_t ts_ns) {
  const auto same = std::mismatch(
      track.open.begin(), track.open.end(), wanted_.begin(), wanted_.end(),
      [](const Open& open, StackFormatter::Frame frame) { return open.frame == frame; });
  const auto kept = static_cast<std::size_t>(same.first - track.open.begin());
  for (; track.open.size() > kept; track.open.pop_back()) {
    const Open& open = track.open.back();
    take_({false, tid, open.frame, open.start_ns, ts_ns});
  }
  for (std::size_t i = kept; i < wanted_.size(); ++i) {
    track.open.push_back({wanted_[i], ts_ns});
    take_({true, tid, wanted_[i], ts_ns, ts_ns});
  }
}

void SampleSlices::add(const model::Sample& sample, std::span<const StackFormatter::Frame> frames) {
  Track& track = tracks_[sample.tid];
  const std::uint64_t now = std::max(sample.ts_ns, track.last_ns);
  // Nothing was seen for much longer than a sample stands for: the thread did not run.
  if (!track.open.empty() && now - track.last_ns > 2 * track.weight_ns) {
    wanted_.clear();
    change(sample.tid, track, track.last_ns + track.weight_ns);
  }
  const std::size_t drawn = std::min(frames.size(), kMaxDepth);
  wanted_.assign(frames.rbegin(), frames.rbegin() + static_cast<std::ptrdiff_t>(drawn));
  if (drawn < frames.size()) wanted_.push_back(kTruncated);
  if (frames.empty()) wanted_.push_back(kNoStack);
  if (sample.state != 0) wanted_.push_back(kBlocked);
  change(sample.tid, track, now);
  track.last_ns = now;
  track.weight_ns = std::clamp<std::uint64_t>(sample.weight_ns, 1000, kMaxSampleNs);
}

void SampleSlices::finish() {
  wanted_.clear();
  for (auto& [tid, track] : tracks_)
    change(tid, track,
           std::max(track.last_ns, std::min(track.last_ns + track.weight_ns, until_ns_)));
}

}  // namespace gpuprof::exporter
