// SPDX-License-Identifier: Apache-2.0
//
// Builds a StepThread from resolved events.
//
// Context:  cli
// Owns:     the StepThread until finish()
// Promises: memory grows with outermost operators, blocks and samples of one thread, not with
//           events
// Not here: what rules make of it
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/export/resolve/event_resolver.hpp"
#include "analysis/report/step_thread/step_thread.hpp"

namespace gpuprof::report::advice {

class StepThreadBuilder final : public exporter::ResolvedSink {
 public:
  /// @param steps Labels of those that count; none: all.
  explicit StepThreadBuilder(
      std::optional<std::pair<std::uint64_t, std::uint64_t>> steps = std::nullopt)
      : wanted_(steps) {}

  /// A window begins; `shown` must live until the next begin() or finish().
  void begin(exporter::EventResolver& shown);

  using exporter::ResolvedSink::on;
  void on(const exporter::ResolvedStep& e) override;
  void on(const exporter::ResolvedOperator& e) override;
  void on(const exporter::ResolvedApiCall& e) override;
  void on(const exporter::ResolvedSample& e) override;
  void on(const exporter::ResolvedOverhead& e) override;
  void on(const model::Allocation& e) override;

  /// @param warm_up How many steps in front are warm-up steps.
  StepThread finish(std::size_t warm_up = 0);

 private:
  bool on_step_thread(std::uint32_t tid) const { return tids_.contains(tid); }
  void add_op(const StepThreadOp& op);
  std::uint32_t name_of(std::string_view name);
  std::uint32_t stack_of(model::StackId stack, std::uint64_t ts_ns);
  std::uint32_t stack_of(std::span<const exporter::StackFormatter::Frame> frames);
  FrameId frame_of(exporter::StackFormatter::Frame frame);
  void sort_steps();
  void drop_nested();
  void attach_waits();
  void merge_collectives();
  void find_long_steps(const std::vector<model::Step>& steps);
  bool in_long_step(std::uint64_t ts_ns);
  bool wants_lock(exporter::StackFormatter::Frame frame);
  bool waits_for_interpreter(std::span<const exporter::StackFormatter::Frame> frames);

  std::optional<std::pair<std::uint64_t, std::uint64_t>> wanted_;
  StepThread step_thread_;
  exporter::EventResolver* shown_ = nullptr;
  std::unordered_set<std::uint32_t> tids_;  // that step
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, FrameId> frames_;
  std::unordered_map<std::string, std::uint32_t> stacks_;        // by the bytes of their frames
  std::unordered_map<model::StackId, std::uint32_t> stack_ids_;  // of this window
  std::unordered_map<exporter::StackFormatter::Frame, FrameId> seen_;  // of this window
  std::unordered_map<exporter::StackFormatter::Frame, bool> locks_;    // of this window
  std::vector<std::pair<std::uint64_t, std::uint64_t>> long_;          // of this window, in order
  std::vector<GpuWait> waits_;
  std::uint64_t first_ns_ = ~std::uint64_t{0}, last_ns_ = 0;  // of all windows
};

}  // namespace gpuprof::report::advice
