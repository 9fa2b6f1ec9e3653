// SPDX-License-Identifier: Apache-2.0
//
// The parts of an XPlane file: the host's plane and one for each GPU.
//
// Context:  daemon (export thread) | cli
// Promises: names and stats are those that xprof's tables are made from (docs/formats.md)
// Not here: sorting and encoding (xplane_plane.hpp), operators' names (tf_op_names.hpp)
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/export/resolve/event_resolver.hpp"
#include "analysis/export/resolve/sample_slices.hpp"
#include "analysis/export/xplane/tf_op_names.hpp"
#include "analysis/export/xplane/xplane_plane.hpp"

namespace gpuprof::exporter {

/// A call that put work on a GPU, and the id of the step it was made in (0: none).
struct XplaneLaunch {
  std::uint32_t correlation;
  model::StringId name;
  std::uint32_t step;
};

/// What the parts share.
struct XplaneContext {
  EventResolver& shown;
  TfOpNames ops;
  std::uint64_t events = 0, left_out = 0;
  /// Launches, and to which GPU's plane each one went; sorted by correlation when all are there.
  std::vector<XplaneLaunch> launches;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> planes;

  explicit XplaneContext(EventResolver& from) : shown(from), ops(from.prescan()) {}
  /// Once they are sorted. nullptr: this call was not seen.
  const XplaneLaunch* launch_of(std::uint32_t correlation) const {
    const auto found =
        std::ranges::lower_bound(launches, correlation, {}, &XplaneLaunch::correlation);
    return found != launches.end() && found->correlation == correlation ? &*found : nullptr;
  }
  bool try_add_event() {
    if (events < XplanePlane::kMaxEvents) return ++events, true;
    return ++left_out, false;
  }
};

/// Ids of a step's event, for what belongs to it; from 1. 0: at this time there was none.
std::uint32_t xplane_step_at(const std::vector<model::Step>& steps, std::uint64_t ns);

/// Ids in one plane of what has dense numbers elsewhere.
class XplaneIdCache {
 public:
  template <typename Make>
  XplaneId get(std::uint32_t number, Make make) {
    if (number >= kMaxCachedId) return make();
    if (number >= ids_.size()) ids_.resize(number + number / 2 + 16);
    return ids_[number] != 0 ? ids_[number] : ids_[number] = make();
  }

 private:
  static constexpr std::uint32_t kMaxCachedId = 1u << 24;
  std::vector<XplaneId> ids_;
};

class XplaneHostBuilder {
 public:
  explicit XplaneHostBuilder(XplaneContext& file);

  void add(const ResolvedStep& step);
  void add(const ResolvedOperator& op);
  void add(const ResolvedRange& range);
  void add(const ResolvedApiCall& call);
  void add(const ResolvedSync& sync);
  void add(const ResolvedOverhead& overhead);
  void add(const ResolvedSample& sample) { slices_.add(sample); }
  void add(const model::Allocation& memory);
  void add(const ModuleCall& call);
  /// After the GPU parts' finish().
  void finish();
  XplanePlane& plane() { return plane_; }

 private:
  /// Rows of a thread, in this order.
  enum TrackLayer { kMain, kOverlapping, kRanges, kModules, kSamples, kWaits, kOverheads, kLayers };
  using ThreadLines = std::array<XplaneLine*, kLayers>;

  XplaneLine& row(std::uint32_t tid, TrackLayer layer);
  XplaneId prefixed_event(std::string_view word, std::string_view name);
  XplaneId op_name(const ResolvedOperator& op);
  void add_slice(const SampleSlices::SliceEdge& slice);
  void stack(model::StackId stack, std::uint64_t ts_ns);
  XplaneId memory_op(XplaneId op);
  void sort_and_nest(XplaneLine& line, TrackLayer layer);
  void count_memory(const model::Allocation& memory);

  XplaneContext& file_;
  const Prescan& prescan_;
  XplanePlane plane_;
  XplaneStats stats_;
  SampleSlices slices_;
  std::map<std::uint32_t, ThreadLines> rows_;
  std::uint32_t last_tid_ = 0;
  ThreadLines* last_rows_ = nullptr;
  XplaneIdCache op_ids_, user_ids_, range_ids_, call_ids_, frame_ids_, stack_ids_, input_ids_,
      op_texts_, memory_texts_;
  std::map<std::int32_t, std::uint64_t> peaks_;  // of memory, by device; -1: the host
  XplaneLine* counters_ = nullptr;
  XplaneId train_, correlation_, stack_, inputs_;
};

/// One GPU.
class XplaneGpuBuilder {
 public:
  /// @param place Of the plane among those of GPUs, from 0.
  XplaneGpuBuilder(XplaneContext& file, std::uint32_t device, std::uint32_t place);

  void add(const ResolvedGpuEvent<model::Kernel>& kernel);
  void add(const ResolvedGpuEvent<model::MemCopy>& copy);
  void add(const ResolvedGpuEvent<model::MemSet>& set);
  void add(const ResolvedGpuEvent<model::GraphExec>& graph);
  void add(const model::Allocation& memory);
  /// After the file's launches are sorted and its operators finished.
  void finish();
  XplanePlane& plane() { return plane_; }

 private:
  struct StreamLine {
    XplaneLine* line;
    std::uint32_t context, stream, kinds;
  };
  using Shape = std::array<std::uint32_t, 10>;

  void write_device_stats();
  template <typename E>
  void add(const E& e, model::RangeId owner, XplaneId name, std::uint32_t kind);
  StreamLine& row(std::uint32_t context, std::uint32_t stream);
  XplaneId details(const model::Kernel& e);
  XplaneId unattributed_op(const XplaneLaunch* launch);
  void name_rows();
  void add_step_windows();

  XplaneContext& file_;
  const Prescan& prescan_;
  const std::uint32_t device_, plane_index_;
  XplanePlane plane_;
  XplaneStats stats_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, StreamLine> rows_;
  StreamLine* last_row_ = nullptr;
  std::map<Shape, XplaneId> details_;
  Shape last_shape_{};
  XplaneId last_details_ = 0;
  XplaneLine* counters_ = nullptr;
  /// Of each step, by its id: when the last of its work here began. 0: it has none.
  std::vector<std::uint64_t> last_begun_ns_;
  XplaneIdCache kernel_ids_, half_precision_ids_, op_texts_, unattributed_;
  XplaneId correlation_, kernel_details_, graph_, graph_node_;
};

}  // namespace gpuprof::exporter
