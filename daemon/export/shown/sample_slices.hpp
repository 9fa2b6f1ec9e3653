// SPDX-License-Identifier: Apache-2.0
//
// Sampled stacks as nested slices: a frame lasts as long as consecutive samples of its thread show
// it.
//
// Context:  daemon (export thread) | cli
// Promises: of a thread the slices nest; an inner one is handed over before those around it
// Not here: the same as begins and ends for the JSON files (flame_track.cpp)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "daemon/export/shown/shown.hpp"

namespace gpuprof::exporter {

class SampleSlices {
 public:
  /// What stands where a stack has no name for it.
  static constexpr StackText::Frame kBlocked = ~0u;  // under the innermost frame of who waits
  static constexpr StackText::Frame kNoStack = ~1u;  // a sample without a stack
  static constexpr StackText::Frame kCut = ~2u;      // frames that are not drawn
  static constexpr std::size_t kMaxDepth = 128;
  /// What is written for these three.
  static std::string_view text_of(StackText::Frame frame);

  struct Slice {
    std::uint32_t tid;
    StackText::Frame frame;
    std::uint64_t start_ns, end_ns;
  };
  using Take = std::function<void(const Slice&)>;

  /// @param until_ns No slice is drawn longer because of what a sample stands for.
  SampleSlices(std::uint64_t until_ns, Take take) : until_ns_(until_ns), take_(std::move(take)) {}

  void add(const ShownSample& sample);
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
  std::map<std::uint32_t, Track> tracks_;
  std::vector<StackText::Frame> wanted_;
};

}  // namespace gpuprof::exporter
