// SPDX-License-Identifier: Apache-2.0
//
// Adds up what a file shows of a process, by name and step.
//
// Context:  cli
// Owns:     the sums; of open windows what may still be asked for: launches, owners of GPU work
// Promises: events of one thread may come in any mix with those of others
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/export/resolve/event_resolver.hpp"
#include "analysis/report/diff/data/step_profile.hpp"

namespace gpuprof::report::diff {

class StepProfileSink final : public exporter::ResolvedSink {
 public:
  StepProfileSink(StepProfile& profile, std::uint64_t slice_ns)
      : profile_(profile), slice_ns_(slice_ns) {}

  /// Before the events of a window; `recorded_ns` lay in the windows before.
  void begin(exporter::EventResolver& shown, std::uint64_t recorded_ns);
  /// After them: GPU work finds its operators.
  void end();
  /// After the last window: sums become what one step took.
  void finish();

  using exporter::ResolvedSink::on;
  void on(const exporter::ResolvedStep& s) override;
  void on(const exporter::ResolvedOperator& o) override;
  void on(const exporter::ResolvedRange& r) override;
  void on(const exporter::ResolvedApiCall& c) override;
  void on(const exporter::ResolvedGpuEvent<model::Kernel>& k) override;
  void on(const exporter::ResolvedGpuEvent<model::MemCopy>& c) override;
  void on(const exporter::ResolvedGpuEvent<model::MemSet>& s) override;
  void on(const exporter::ResolvedGpuEvent<model::GraphExec>& g) override;
  void on(const exporter::ResolvedSync& s) override;
  void on(const model::Allocation& a) override;

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Window {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;  // by start
    std::uint32_t first_step = 0;                                // index of the first of them
    std::uint64_t start_ns = 0, offset_ns = 0;
  };
  /// Calls in a call that has not ended yet.
  struct PendingApiCall {
    struct Child {
      std::uint32_t name, calls;
      std::uint64_t ns;
    };
    std::uint64_t ns = 0;
    std::vector<Child> children;
    std::unordered_map<std::uint32_t, std::size_t> places;  // of many children, by name

    Child& child(std::uint32_t name);
  };
  /// Calls of one name on one thread that another of the same name may still enclose.
  struct RecentCalls {
    struct One {
      std::uint64_t start_ns, ns;
      std::uint32_t cell;
    };
    std::uint64_t generation = 0;
    std::vector<One> calls;
  };
  /// An operator that launched GPU work, itself or further in.
  struct Launcher {
    std::uint32_t name = kNone, cell = kNone;
    model::RangeId parent = 0;
    double ns = 0;
  };
  struct PendingGpuWork {
    std::uint32_t correlation, name, measure;
    std::uint64_t ns;
  };

  /// The cell of an instant; kNone between steps.
  std::uint32_t cell_at(std::uint64_t ns);
  std::uint32_t name_index(std::string_view name, NameKind kind);
  StepCell& cell_of(std::uint32_t name, std::uint32_t cell);
  void measure(StepMeasure measure, std::uint32_t cell, double value);
  void nested(model::RangeId id, model::RangeId parent, std::uint32_t tid, std::uint32_t name,
              const exporter::Interval& time, bool nests);
  std::uint64_t take_total(std::uint32_t name, std::uint32_t tid, const exporter::Interval& time,
                           std::uint32_t cell);
  void shapes(std::uint32_t name, model::InputsId inputs);
  template <typename E>
  void gpu(const exporter::ResolvedGpuEvent<E>& gpu, NameKind kind, StepMeasure sum);
  void add_gpu_work(const PendingGpuWork& event, std::uint32_t cell);
  void add_launcher_time();
  void add_busy_time();
  std::uint64_t next_boundary(std::uint64_t ns) const;
  void merge_cells();

  StepProfile& profile_;
  const std::uint64_t slice_ns_;  // 0: by steps
  exporter::EventResolver* shown_ = nullptr;
  Window window_;
  std::uint32_t step_tid_ = 0;
  std::size_t last_step_ = 0;
  std::unordered_map<std::string, std::uint32_t> indexes_;
  std::unordered_set<std::uint64_t> others_;           // hashes of names without a row
  std::unordered_map<std::uint64_t, CallEdge> edges_;  // by parent and child
  std::unordered_map<model::RangeId, PendingApiCall> inside_;
  std::unordered_map<std::uint64_t, RecentCalls> enclosable_;     // thread, name
  std::unordered_map<std::uint32_t, std::uint64_t> generations_;  // of threads
  std::unordered_map<model::RangeId, Launcher> launchers_;
  std::unordered_map<std::uint32_t, std::uint32_t> launch_cells_;  // by correlation
  std::unordered_map<model::InputsId, std::string> shape_texts_;
  std::vector<PendingGpuWork> unsettled_;  // GPU work that came before its launch
  std::vector<std::pair<std::uint64_t, std::uint64_t>> busy_;
};

}  // namespace gpuprof::report::diff
