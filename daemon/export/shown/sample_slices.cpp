// SPDX-License-Identifier: Apache-2.0
//
// From samples to slices.
//
// Context:  daemon (export thread) | cli
#include "daemon/export/shown/sample_slices.hpp"

#include <algorithm>

namespace gpuprof::exporter {
namespace {

/// No sample stands for more; a damaged one must not paint the whole row.
constexpr std::uint64_t kMaxWeightNs = 10'000'000'000;

}  // namespace

std::string_view SampleSlices::text_of(StackText::Frame frame) {
  return frame == kBlocked   ? "(blocked)"
         : frame == kNoStack ? "(no stack)"
                             : "(deeper frames not drawn)";
}

/// Closes what is open and not wanted, opens the rest.
void SampleSlices::change(std::uint32_t tid, Track& track, std::uint64_t ts_ns) {
  const auto same =
      std::mismatch(track.open.begin(), track.open.end(), wanted_.begin(), wanted_.end(),
                    [](const Open& open, StackText::Frame frame) { return open.frame == frame; });
  const auto kept = static_cast<std::size_t>(same.first - track.open.begin());
  for (; track.open.size() > kept; track.open.pop_back()) {
    const Open& open = track.open.back();
    if (ts_ns > open.start_ns) take_({tid, open.frame, open.start_ns, ts_ns});
  }
  for (std::size_t i = kept; i < wanted_.size(); ++i) track.open.push_back({wanted_[i], ts_ns});
}

void SampleSlices::add(const ShownSample& sample) {
  const model::Sample& e = sample.e;
  Track& track = tracks_[e.tid];
  const std::uint64_t now = std::max(e.ts_ns, track.last_ns);
  // Nothing was seen for much longer than a sample stands for: the thread did not run.
  if (!track.open.empty() && now - track.last_ns > 2 * track.weight_ns) {
    wanted_.clear();
    change(e.tid, track, track.last_ns + track.weight_ns);
  }
  const std::size_t drawn = std::min(sample.frames.size(), kMaxDepth);
  wanted_.assign(sample.frames.rbegin(),
                 sample.frames.rbegin() + static_cast<std::ptrdiff_t>(drawn));
  if (drawn < sample.frames.size()) wanted_.push_back(kCut);
  if (sample.frames.empty()) wanted_.push_back(kNoStack);
  if (e.state != 0) wanted_.push_back(kBlocked);
  change(e.tid, track, now);
  track.last_ns = now;
  track.weight_ns = std::clamp<std::uint64_t>(e.weight_ns, 1000, kMaxWeightNs);
}

void SampleSlices::finish() {
  wanted_.clear();
  for (auto& [tid, track] : tracks_)
    change(tid, track,
           std::max(track.last_ns, std::min(track.last_ns + track.weight_ns, until_ns_)));
}

}  // namespace gpuprof::exporter
