// SPDX-License-Identifier: Apache-2.0
//
// Sampled stacks as nested slices: a frame lasts as long as consecutive samples of its thread show
// it.
//
// Context:  daemon (export thread) | cli
// Owns:     the frames that are open on each thread
// Promises: of a thread the slices nest; begins and ends come in time order and pair up like
//           brackets
// Not here: what a slice looks like in a file
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/export/resolve/event_resolver.hpp"

namespace gpuprof::exporter {

class SampleSlices {
 public:
  /// What stands where a stack has no name for it.
  static constexpr StackFormatter::Frame kBlocked = ~0u;  // under the innermost frame of who waits
  static constexpr StackFormatter::Frame kNoStack = ~1u;  // a sample without a stack
  static constexpr StackFormatter::Frame kTruncated = ~2u;  // frames that are not drawn
  static constexpr std::size_t kMaxDepth = 128;
  /// What is written for a frame, these three among them.
  static std::string_view text_of(StackFormatter::Frame frame, const StackFormatter& stacks);
  static std::string_view category_of(StackFormatter::Frame frame) {
    return frame == kBlocked ? "cpu_sample_blocked" : "cpu_sample";
  }

  /// A slice that begins, or one that ends.
  struct SliceEdge {
    bool begins;
    std::uint32_t tid;
    StackFormatter::Frame frame;
    std::uint64_t start_ns, at_ns;  // of the slice; of the change
  };
  using Callback = std::function<void(const SliceEdge&)>;

  /// @param until_ns No slice is drawn longer because of what a sample stands for.
  SampleSlices(std::uint64_t until_ns, Callback take)
      : until_ns_(until_ns), take_(std::move(take)) {}

  void add(const ResolvedSample& sample) { add(sample.event, sample.frames); }
  /// @param frames Of the sample's stack, innermost first.
  void add(const model::Sample& sample, std::span<const StackFormatter::Frame> frames);
  void finish();

 private:
  struct Open {
    StackFormatter::Frame frame;
    std::uint64_t start_ns;
  };
  struct Track {
    std::vector<Open> open;  // outermost first
    std::uint64_t last_ns = 0, weight_ns = 0;
  };
  void change(std::uint32_t tid, Track& track, std::uint64_t ts_ns);

  std::uint64_t until_ns_;
  Callback take_;
  std::unordered_map<std::uint32_t, Track> tracks_;
  std::vector<StackFormatter::Frame> wanted_;
};

}  // namespace gpuprof::exporter
