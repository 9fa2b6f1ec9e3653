// SPDX-License-Identifier: Apache-2.0
//
// What time was spent on, each time with its whole stack: samples, operators' own time, GPU work
// under the operators and frames that launched it.
//
// Context:  daemon (export thread) | cli
// Owns:     one row an operator and launch, at most kMaxRows of each; a cache of stacks
// Promises: memory for samples does not grow with their number
// Not here: what a format makes of it (pprof_writer.cpp, speedscope_writer.cpp, folded_writer.cpp)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/export/resolve/event_resolver.hpp"
#include "analysis/export/resolve/stack_tree.hpp"

namespace gpuprof::exporter {

/// A first reading: who launched what, and under which operators.
class LaunchTable final : public ResolvedSink {
 public:
  static constexpr std::size_t kMaxRows = 2'000'000;
  struct Caller {
    model::RangeId id, parent;
    model::StackId stack;
    std::string_view name;  // lives as long as the prescan
    bool is_operator;
  };
  struct Launch {
    std::uint32_t correlation, tid;
    model::StackId stack;
    std::uint64_t start_ns;
  };

  using ResolvedSink::on;
  void on(const ResolvedOperator& op) override;
  void on(const ResolvedRange& range) override;
  void on(const ResolvedApiCall& call) override;
  /// After the reading.
  void finish();

  /// Null: not known.
  const Caller* caller(model::RangeId id) const;
  const Launch* launch(std::uint32_t correlation) const;
  /// Rows for which there was no room.
  std::uint64_t left_out() const { return left_out_; }

 private:
  void add(const Caller& caller);

  std::vector<Caller> callers_;
  std::vector<Launch> launches_;
  std::uint64_t left_out_ = 0;
};

/// One stretch of time.
struct WeightedStack {
  enum class WeightKind : std::uint8_t {
    kOnCpu,     // a sample of a running thread: CPU time it stands for
    kBlocked,   // a sample of a waiting thread: time it stands for
    kOperator,  // an operator or nested range without those inside it
    kGpu        // a kernel, copy, set or graph run
  };
  WeightKind what;
  bool kernel;           // of kGpu: a kernel
  std::uint32_t tid;     // of kGpu the thread that launched it; 0: not known
  std::uint32_t device;  // of kGpu
  std::uint64_t ns;
  const model::Step* step;  // in which it was, or was launched; null: none
  StackTree::Node stack;
};

/// The second reading.
class WeightedStackSink final : public ResolvedSink {
 public:
  using Callback = std::function<void(const WeightedStack&)>;
  /// Where the stack of an event begins, for formats that sort them by what they are; empty: all
  /// begin at the root.
  using RootFor = std::function<StackTree::Node(WeightedStack::WeightKind, std::uint32_t tid,
                                                std::uint32_t device)>;

  WeightedStackSink(EventResolver& shown, const LaunchTable& launches, StackTree& tree, RootFor top,
                    Callback take);

  using ResolvedSink::on;
  void on(const ResolvedSample& sample) override;
  void on(const ResolvedOperator& op) override { add_self_time(op); }
  void on(const ResolvedRange& range) override {
    if (range.event.kind == model::RangeKind::kPushPop) add_self_time(range);
  }
  void on(const ResolvedGpuEvent<model::Kernel>& kernel) override { gpu(kernel, true); }
  void on(const ResolvedGpuEvent<model::MemCopy>& copy) override { gpu(copy, false); }
  void on(const ResolvedGpuEvent<model::MemSet>& set) override { gpu(set, false); }
  void on(const ResolvedGpuEvent<model::GraphExec>& graph) override { gpu(graph, false); }

 private:
  StackTree::Node top(WeightedStack::WeightKind what, std::uint32_t tid,
                      std::uint32_t device) const {
    return top_ ? top_(what, tid, device) : StackTree::kRoot;
  }
  /// Of an operator or range: what is left of it without those inside.
  template <typename E>
  void add_self_time(const E& shown);
  template <typename E>
  void gpu(const ResolvedGpuEvent<E>& shown, bool kernel);
  /// Frames of a stack below `top`.
  StackTree::Node frames(StackTree::Node top, model::StackId stack, std::uint64_t ns);
  /// Frames, then the operators around, outermost first, below `top`.
  StackTree::Node callers(StackTree::Node top, model::RangeId owner, model::StackId stack,
                          std::uint64_t ns);

  EventResolver& shown_;
  const LaunchTable& launches_;
  StackTree& tree_;
  RootFor top_;
  Callback take_;
  std::unordered_map<std::uint64_t, StackTree::Node> known_;  // by top and stack
  std::unordered_map<model::RangeId, std::uint64_t>
      child_ns_;  // of open ones: time of those inside
  std::vector<std::string_view> chain_;
  const std::vector<model::Step>& steps_;
};

/// Reads the resolved events twice and hands over every stretch of time.
support::Result<void> collect_weighted_stacks(EventResolver& shown, StackTree& tree,
                                              WeightedStackSink::RootFor top,
                                              WeightedStackSink::Callback take);

/// The name of a thread as stacks begin with it: `python3 4711`.
std::string thread_label(const Prescan& prescan, std::uint32_t tid);

}  // namespace gpuprof::exporter
