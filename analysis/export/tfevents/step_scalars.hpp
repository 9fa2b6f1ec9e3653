// SPDX-License-Identifier: Apache-2.0
//
// Figures of each step of a window, as curves show them.
//
// Context:  daemon (export thread) | cli
// Owns:     the busy times of each GPU, at most kMaxIntervals; a few numbers a step
// Promises: a window without steps is one step; what overlaps is counted once
// Not here: tables and advice (analysis/report), what the curves are called (tfevents_writer.cpp)
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/export/containers/intervals.hpp"
#include "analysis/export/resolve/event_resolver.hpp"

namespace gpuprof::exporter {

struct StepScalars {
  struct Memory {
    std::uint64_t allocated_peak_bytes = 0, reserved_peak_bytes = 0;
  };
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint64_t label = 0;
  std::uint64_t kernels = 0;  // that began in it
  std::uint64_t kernel_ns = 0, copy_ns = 0, copy_bytes = 0;
  std::uint64_t busy_ns = 0;              // of all GPUs together
  std::uint64_t loader_ns = 0;            // its thread waited for a DataLoader
  std::uint64_t wait_ns = 0;              // its thread waited for a GPU
  std::map<std::int32_t, Memory> memory;  // by device; -1: the host
};

class StepScalarsSink final : public ResolvedSink {
 public:
  static constexpr std::size_t kMaxIntervals = 4u << 20;

  explicit StepScalarsSink(const Prescan& prescan);

  void on(const ResolvedOperator& op) override;
  void on(const ResolvedGpuEvent<model::Kernel>& kernel) override;
  void on(const ResolvedGpuEvent<model::MemCopy>& copy) override;
  void on(const ResolvedGpuEvent<model::MemSet>& set) override { busy(set); }
  void on(const ResolvedGpuEvent<model::GraphExec>& graph) override { busy(graph); }
  void on(const ResolvedSync& sync) override;
  void on(const model::Allocation& memory) override;

  /// All were shown. Steps in time order.
  const std::vector<StepScalars>& finish();
  std::size_t gpus() const { return busy_.size(); }
  bool has_loader() const { return has_loader_; }
  bool has_waits() const { return has_waits_; }

 private:
  struct MemoryLevel {
    std::uint64_t at_ns = 0, allocated_bytes = 0, reserved_bytes = 0;
  };

  template <typename Visit>
  void for_each_step(const Interval& interval, Visit visit);
  template <typename E>
  void busy(const ResolvedGpuEvent<E>& e);
  void distribute(Intervals& intervals, std::uint64_t StepScalars::*member);
  void carry_memory();

  std::vector<StepScalars> steps_;
  std::vector<std::uint32_t> tids_;  // of the steps
  std::map<std::uint32_t, Intervals> busy_;
  Intervals loader_, waits_;
  std::uint32_t main_tid_;
  std::map<std::int32_t, std::vector<MemoryLevel>> levels_;  // the last of each step
  bool has_loader_ = false, has_waits_ = false;
};

}  // namespace gpuprof::exporter
