// SPDX-License-Identifier: Apache-2.0
//
// Gathers a Story from what a file shows.
//
// Context:  cli
// Owns:     the story until finish()
// Promises: memory grows with outermost operators, blocks and samples of one thread, not with events
// Not here: what rules make of it
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/export/shown.hpp"
#include "daemon/report/advice/story.hpp"

namespace gpuprof::report::advice {

class StoryPart final : public exporter::ShownSink {
 public:
  /// A window begins; `shown` must live until the next begin() or finish().
  void begin(exporter::Shown& shown);

  using exporter::ShownSink::on;
  void on(const exporter::ShownStep& e) override;
  void on(const exporter::ShownOp& e) override;
  void on(const exporter::ShownCall& e) override;
  void on(const exporter::ShownSample& e) override;
  void on(const exporter::ShownOverhead& e) override;
  void on(const model::Allocation& e) override;

  /// @param keep_until_ns Steps that begin later do not count, nor those before keep_from_ns.
  Story finish(std::uint64_t keep_from_ns = 0, std::uint64_t keep_until_ns = ~0ULL);

 private:
  bool on_step_thread(std::uint32_t tid) const { return tids_.contains(tid); }
  void add_op(const StoryOp& op);
  std::uint32_t name_of(std::string_view name);
  std::uint32_t stack_of(model::StackId stack, std::uint64_t ts_ns);
  std::uint32_t stack_of(std::span<const exporter::StackText::Frame> frames);
  FrameId frame_of(exporter::StackText::Frame frame);
  void keep_steps(std::uint64_t from_ns, std::uint64_t until_ns);
  void keep_outermost();
  void join_waits();
  void merge_talks();

  Story story_;
  exporter::Shown* shown_ = nullptr;
  std::unordered_set<std::uint32_t> tids_;  // that step
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, FrameId> frames_;
  std::unordered_map<std::string, std::uint32_t> stacks_;         // by the bytes of their frames
  std::unordered_map<model::StackId, std::uint32_t> stack_ids_;   // of this window
  std::unordered_map<exporter::StackText::Frame, FrameId> seen_;  // of this window
  std::vector<StoryWait> waits_;
};

}  // namespace gpuprof::report::advice
