// SPDX-License-Identifier: Apache-2.0
//
// Sampled stacks as slices on a row of their own.
//
// Context:  daemon (export thread) | cli
// Promises: begins and ends pair up in time order on each row, so that equal times nest rightly
#include <algorithm>

#include "daemon/export/tensorboard/tensorboard_parts.hpp"

namespace gpuprof::exporter {
namespace {

constexpr StackText::Frame kBlocked = ~0u;  // slice under the innermost frame of a waiting thread
constexpr StackText::Frame kNoStack = ~1u;  // a sample without a stack
constexpr StackText::Frame kCut = ~2u;      // stands for frames that are not drawn
constexpr std::uint32_t kStateRepeat = 2;
/// No sample stands for more; a damaged one must not paint the whole row.
constexpr std::uint64_t kMaxWeightNs = 10'000'000'000;

}  // namespace

void FlamePart::slice(std::uint32_t tid, StackText::Frame frame, bool begins, std::uint64_t ts_ns) {
  const std::string_view name = frame == kBlocked   ? "(blocked)"
                                : frame == kNoStack ? "(no stack)"
                                : frame == kCut     ? "(deeper frames not drawn)"
                                                    : t_.stacks.name(frame);
  t_.json.need(512 + name.size());
  JsonText& json = t_.json;
  json.raw(begins ? ",\n{\"ph\":\"B\",\"cat\":\"" : ",\n{\"ph\":\"E\",\"cat\":\"");
  json.raw(frame == kBlocked ? "cpu_sample_blocked" : "cpu_sample");
  json.raw("\",\"name\":\"").raw(name);
  t_.row(t_.host_pid, kSampleTidOffset + tid);
  t_.ts(ts_ns).raw("}");
}

/// Closes what is open and not wanted, opens the rest.
void FlamePart::change(std::uint32_t tid, Track& track, std::uint64_t ts_ns) {
  const auto same = static_cast<std::size_t>(
      std::mismatch(track.open.begin(), track.open.end(), wanted_.begin(), wanted_.end()).first -
      track.open.begin());
  for (std::size_t i = track.open.size(); i > same; --i)
    slice(tid, track.open[i - 1], false, ts_ns);
  for (std::size_t i = same; i < wanted_.size(); ++i) slice(tid, wanted_[i], true, ts_ns);
  track.open = wanted_;
}

void FlamePart::write(const model::Sample& e) {
  if (!t_.survey.inside(e.ts_ns)) return;
  ++t_.written;
  Track& track = tracks_[e.tid];
  const std::uint64_t now = std::max(e.ts_ns, track.last_ns);
  // Nothing was seen for much longer than a sample stands for: the thread did not run.
  if (!track.open.empty() && now - track.last_ns > 2 * track.weight_ns) {
    wanted_.clear();
    change(e.tid, track, track.last_ns + track.weight_ns);
  }
  if (e.state != kStateRepeat || e.stack != 0) track.stack = e.stack;
  const std::vector<StackText::Frame>& frames = t_.stacks.frames(track.stack, e.ts_ns);
  const std::size_t drawn = std::min(frames.size(), kMaxDepth);
  wanted_.assign(frames.rbegin(), frames.rbegin() + static_cast<std::ptrdiff_t>(drawn));
  if (drawn < frames.size()) {
    wanted_.push_back(kCut);
    ++t_.deep_stacks;
  }
  if (frames.empty()) wanted_.push_back(kNoStack);
  if (e.state != 0) wanted_.push_back(kBlocked);
  change(e.tid, track, now);
  track.last_ns = now;
  track.weight_ns = std::clamp<std::uint64_t>(e.weight_ns, 1000, kMaxWeightNs);
}

void FlamePart::finish() {
  wanted_.clear();
  for (auto& [tid, track] : tracks_)
    change(tid, track,
           std::max(track.last_ns,
                    std::min(track.last_ns + track.weight_ns, t_.survey.window.end_ns)));
}

}  // namespace gpuprof::exporter
