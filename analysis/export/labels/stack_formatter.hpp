// SPDX-License-Identifier: Apache-2.0
//
// Stacks as a file shows them: frames with interned names, and one line for "Call stack".
//
// Context:  daemon (export thread) | cli
// Owns:     the namer and bounded caches of what it said
// Promises: names are written as the file wants them; innermost frame first
// Not here: how addresses get names (analysis/symbols)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/export/labels/name_table.hpp"
#include "analysis/symbols/stack_symbolizer.hpp"
#include "recording/model/events.hpp"

namespace gpuprof::exporter {

class StackFormatter {
 public:
  /// Index of a frame's name; equal names have equal indexes.
  using Frame = std::uint32_t;

  /// Stands outermost in a stack that was cut or torn.
  static constexpr Frame kIncompleteFrame = 1;
  /// Stands there when only the order of native and Python frames is in doubt.
  static constexpr Frame kMismatchedFrame = 2;

  explicit StackFormatter(TextEncoding texts = TextEncoding::kJsonEscaped);
  ~StackFormatter();

  /// Takes what stacks are made of.
  template <typename E>
  void define(const E& event) {
    namer_.on(event);
  }

  /// Valid until the next call. `ts_ns`: when the stack was taken.
  const std::vector<Frame>& frames(model::StackId stack, std::uint64_t ts_ns);
  std::string_view name(Frame frame) const { return names_[frame]; }
  /// Where it is in the sources; only kept for plain texts. kUnknown where there is no such place.
  const symbols::DisplayFrame& source_location(Frame frame) const {
    return frame < locations_.size() ? locations_[frame] : locations_[0];
  }
  /// Frames joined by ';', as the viewers expect; empty for no stack.
  std::string_view joined_frames(model::StackId stack, std::uint64_t ts_ns);

 private:
  Frame intern(const symbols::DisplayFrame& frame);

  static constexpr std::size_t kMaxStacks = 100'000;
  static constexpr std::size_t kMaxLines = 20'000;
  static constexpr std::size_t kMaxNames = 500'000;

  TextEncoding as_;
  symbols::StackSymbolizer namer_;
  StringArena arena_;
  std::vector<std::string_view> names_;
  std::vector<symbols::DisplayFrame> locations_;  // by frame
  std::unordered_map<std::string, Frame> by_name_;
  std::unordered_map<model::StackId, std::vector<Frame>> frames_;
  std::unordered_map<model::StackId, std::string> lines_;
  std::string scratch_;
};

}  // namespace gpuprof::exporter
