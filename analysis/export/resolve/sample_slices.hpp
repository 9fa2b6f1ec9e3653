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
  static constexpr StackText::Frame kBlocked = ~0u;  // under the innermost frame of who waits
  static constexpr StackText::Frame kNoStack = ~1u;  // a sample without a stack
  static constexpr StackText::Frame kCut = ~2u;      // frames that are not drawn
  static constexpr std::size_t kMaxDepth = 128;
  /// What is written for a frame, these three among them.
  static std::string_view text_of(StackText::Frame frame, const StackText& stacks);
  static std::string_view category_of(StackText::Frame frame) {
    return frame == kBlocked ? "cpu_sample_blocked" : "cpu_sample";
  }

  /// A slice that begins, or one that ends.
  struct Change {
    bool begins;
    std::uint32_t tid;
    StackText::Frame frame;
    std::uint64_t start_ns, at_ns;  // of the slice; of the change
  };
  using Take = std::function<void(const Change&)>;

  /// @param until_ns No slice is drawn longer because of what a sample stands for.
  SampleSlices(std::uint64_t until_ns, Take take) : until_ns_(until_ns), take_(std::move(take)) {}

  void add(const ShownSample& sample) { add(sample.e, sample.frames); }
  /// @param frames Of the sample's stack, innermost first.
  void add(const model::Sample& sample, std::span<const StackText::Frame> frames);
  void finish();

 private:
  struct Open {
    StackText::Frame frame;
    std::uint64_t start_ns;
  };
  struct Track {
    std::vector<Open> open;  // outermost first
    std::uint64_t last_ns = 0, weight_ns = 0;
  };
  void change(std::uint32_t tid, Track& track, std::uint64_t ts_ns);

  std::uint64_t until_ns_;
  Take take_;
  std::unordered_map<std::uint32_t, Track> tracks_;
  std::vector<StackText::Frame> wanted_;
};

}  // namespace gpuprof::exporter
