// SPDX-License-Identifier: Apache-2.0
//
// The first pass over a process's spool: everything a file must say before its events.
//
// Context:  daemon (export thread) | cli
// Owns:     what it learned; bounded whatever the number of events
// Promises: `keeps` decides once, for counting here and for writing in the second pass
// Not here: how it is written (tensorboard_*.cpp)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/export/containers/paged_bitset.hpp"
#include "analysis/export/labels/event_counters.hpp"
#include "analysis/export/labels/inputs_formatter.hpp"
#include "analysis/export/labels/name_table.hpp"
#include "analysis/export/labels/stack_formatter.hpp"
#include "analysis/export/prescan/collectives.hpp"
#include "analysis/export/prescan/module_paths.hpp"
#include "analysis/export/prescan/step_placement.hpp"
#include "recording/model/ignoring_sink.hpp"
#include "recording/model/notice_log.hpp"
#include "recording/model/open_snapshots.hpp"
#include "recording/model/window.hpp"

namespace gpuprof::exporter {

/// The host's waits for a stream lie over the kernels waited for: rows of their own, this far
/// from the stream's.
inline constexpr std::int64_t kSyncTrackOffset = 1'000'000;
/// Row of a synchronisation on its device; -1: it concerns no stream.
std::int64_t sync_track(const model::Sync& sync);

/// As many ranges are cut at a window's border; each outer one a nanosecond later.
inline constexpr std::size_t kMaxBoundaryRanges = 10'000;

/// The viewers know memory of the host and of CUDA devices.
inline bool is_supported_memory(const model::Allocation& e) {
  return e.device_type == 0 || (e.device_type == 1 && e.device >= 0 && e.device < 64);
}

struct Prescan {
  struct Thread {
    std::string name;
    bool has_events = false, sampled = false;
    bool signal_masked =
        false;  // it blocked the sampling signal, for a while at least: first seen in this window
    std::uint64_t signal_masked_since_ns = 0;  // when that was first seen; 0: never
    std::uint64_t on_cpu_samples = 0, off_cpu_samples = 0;
    std::uint64_t sampled_cpu_ns = 0;    // CPU time the running samples stand for
    std::uint64_t last_call_end_ns = 0;  // calls that began inside the window
  };
  struct Clip {
    std::uint64_t start_ns, end_ns;
  };
  struct LossTotals {
    std::uint64_t in_window = 0, total = 0, first_ns = ~0ULL, last_ns = 0;
  };
  struct Clock {
    std::uint64_t pairs = 0, worst_gap_ns = 0;
    std::int64_t first_offset_ns = 0, last_offset_ns = 0;  // REALTIME - MONOTONIC
  };

  explicit Prescan(TextEncoding texts = TextEncoding::kJsonEscaped);
  ~Prescan();  // here and below not inline: its maps are instantiated once, not in every writer
  Prescan(const Prescan&) = delete;
  Prescan& operator=(const Prescan&) = delete;

  model::Window window;
  NameTable names;
  InputsFormatter inputs;
  ModulePaths modules;
  Collectives collectives;
  OpenSnapshots open_ranges;
  std::uint32_t pid = 0, ppid = 0;
  std::string exe, command_line;
  std::map<std::uint32_t, Thread> threads;
  std::map<std::uint32_t, model::Device> devices;
  std::unordered_map<std::uint32_t, model::Context> contexts;
  std::map<std::uint32_t, std::string> domains;
  std::map<std::string, std::string> facts;
  model::NoticeLog notices;
  std::map<std::uint32_t, LossTotals> losses;
  Clock clock;
  std::set<std::pair<std::uint32_t, std::int64_t>> gpu_tracks;   // device, stream (-1: none)
  std::set<std::pair<std::uint32_t, std::int64_t>> sync_tracks;  // device, row
  std::vector<model::Step> steps;                                // whole ones inside the window
  std::unordered_set<std::uint64_t> abutted_step_ends;  // of steps, something else begins at once
  PagedBitset launched;                // correlation ids of the host calls that are kept
  std::uint32_t first_launched = ~0U;  // lowest of them
  PagedBitset launched_before_window;  // … of host calls before the window, where calls were lost
  bool launches_before_known = false;  // whether those were looked for
  PagedBitset on_gpu;                  // correlation ids of GPU events
  PagedBitset operator_ids;            // ids of the ranges that become operators
  std::unordered_map<model::RangeId, Clip> clipped;
  std::unordered_map<model::RangeId, StepRelation>
      step_crossing_ranges;  // push/pop ranges among steps
  std::set<model::StringId>
      launching_step_ranges;  // names of ranges around steps that launch themselves
  std::array<std::uint64_t, static_cast<std::size_t>(EventKind::kCount)> counts{};
  std::array<std::uint64_t, static_cast<std::size_t>(OmissionReason::kCount)> omissions{};
  bool replay_complete = true;
  bool is_truncated = false;           // the spool lacks its end, and that is part of this window
  bool samples_requested = true;       // the options asked for stacks of samples
  bool stacks_requested = true;        // … and of PyTorch's operators
  std::uint64_t sample_period_ns = 0;  // CPU time between two of a thread; 0: not known

  std::uint64_t& count(EventKind kind) { return counts[static_cast<std::size_t>(kind)]; }
  std::uint64_t count(EventKind kind) const { return counts[static_cast<std::size_t>(kind)]; }
  std::uint64_t& count(OmissionReason kind) { return omissions[static_cast<std::size_t>(kind)]; }
  std::uint64_t events() const;

  bool starts_in_window(std::uint64_t start_ns) const {
    return start_ns >= window.start_ns && start_ns < window.end_ns;
  }
  /// No file's window has its host call. Where those before the window are not known, ids tell:
  /// they grow with time.
  bool launch_lost(std::uint32_t correlation) const {
    if (launched.test(correlation)) return false;
    return launches_before_known ? !launched_before_window.test(correlation)
                                 : correlation > first_launched;
  }
  /// Nothing tells launches: CUDA calls were not recorded.
  bool has_no_launches() const { return launched.empty() && launched_before_window.empty(); }
  /// A GPU event belongs to the file of its launch; where that is not known, to that of its start.
  bool includes_gpu_event(std::uint32_t correlation, std::uint64_t start_ns) const {
    if (has_no_launches() || launch_lost(correlation)) return starts_in_window(start_ns);
    return launched.test(correlation);
  }
  bool overlaps(const Interval& range) const {
    return range.start_ns < window.end_ns &&
           (range.end_ns > window.start_ns || range.start_ns >= window.start_ns);
  }
  /// It does not nest, or too deep, and is drawn apart.
  bool is_non_nesting(const model::Operator& op) const {
    if ((op.flags & model::kRangeDeep) != 0) return true;
    return (op.flags & model::kRangeCrossing) != 0 &&
           collectives.extended_interval(op.id) == nullptr;
  }
  /// Where ranges of a thread are cut: its last call may end after the window.
  std::uint64_t clip_end_ns(std::uint32_t tid) const;
  /// A range or operator as long as it is: what is still open reaches over the border.
  template <typename E>
  E with_open_end(E e) const {
    if (OpenSnapshots::is_still_open(e))
      e.end_ns = std::max(e.end_ns, clip_end_ns(e.tid) + kMaxBoundaryRanges);
    return e;
  }
  /// How a push/pop range or operator is drawn: cut at the window, placed among the steps.
  StepPlacement placement_of(model::RangeId id, std::uint32_t tid, Interval range) const;
  /// The id to write on a call or GPU event: 0 unless the file has that operator.
  model::RangeId operator_of(model::RangeId range) const {
    return range != 0 && operator_ids.test(range) && !step_crossing_ranges.contains(range) ? range
                                                                                           : 0;
  }
  /// The device of an event; contexts know it where the event does not.
  std::uint32_t device_of(std::uint32_t device, std::uint32_t context) const;
  /// Thread that steps, else the process's first thread.
  std::uint32_t main_tid() const;
};

/// Fills a Prescan; call finish() after the replay.
class Prescanner final : public model::IgnoringSink {
 public:
  Prescanner(Prescan& prescan, StackFormatter& stacks);
  ~Prescanner() override;

  using model::IgnoringSink::on;
  void on(const model::StringDef& e) override {
    result_.names.define(e.id, e.text);
    stacks_.define(e);
  }
  void on(const model::StackDef& e) override {
    stacks_.define(e);
    result_.modules.define(e);
  }
  void on(const model::TorchModule& e) override { result_.modules.define(e); }
  void on(const model::PythonCode& e) override { stacks_.define(e); }
  void on(const model::Module& e) override { stacks_.define(e); }
  void on(const model::ModuleUnload& e) override { stacks_.define(e); }
  void on(const model::Process& e) override;
  void on(const model::ProcessEnd& e) override { stacks_.define(e); }
  void on(const model::ThreadName& e) override;
  void on(const model::Inputs& e) override { result_.inputs.define(e); }
  void on(const model::Domain& e) override;
  void on(const model::Fact& e) override;
  void on(const model::Notice& e) override;
  void on(const model::Loss& e) override;
  void on(const model::ClockSnapshot& e) override;
  void on(const model::Device& e) override;
  void on(const model::Context& e) override;
  void on(const model::Sample& e) override;
  void on(const model::Range& e) override;
  void on(const model::Operator& e) override;
  void on(const model::Allocation& e) override;
  void on(const model::Step& e) override;
  void on(const model::ApiCall& e) override;
  void on(const model::Kernel& e) override;
  void on(const model::MemCopy& e) override { gpu(e, EventKind::kMemCopy); }
  void on(const model::MemSet& e) override { gpu(e, EventKind::kMemSet); }
  void on(const model::GraphExec& e) override { gpu(e, EventKind::kGraph); }
  void on(const model::Sync& e) override;
  void on(const model::Overhead& e) override;

  void finish();

 private:
  struct BoundaryRange {
    model::RangeId id;
    std::uint32_t tid;
    model::StringId name;
    std::uint64_t start_ns, end_ns;
  };
  struct PendingGpuEvent {
    std::uint32_t correlation;
    EventKind kind;
    bool in_time;
  };

  Prescan::Thread& thread(std::uint32_t tid);
  void name_thread(const model::ThreadName& e);
  void take(const model::Range& e);
  void take(const model::Operator& e);
  template <typename E>
  void gpu(const E& event, EventKind kind);
  void add_nested(const BoundaryRange& range);
  bool drawn_separately(std::uint32_t flags);
  void resolve_pending(const PendingGpuEvent& event);
  void note_abutting(const model::Step& step, const BoundaryRange& range);
  void clip_straddlers();
  void place_ranges();

  Prescan& result_;
  StackFormatter& stacks_;
  Prescan::Thread* last_thread_ = nullptr;  // events of a thread come in runs
  std::uint32_t last_tid_ = 0;
  PagedBitset owners_;  // ranges that were innermost at some call
  std::vector<BoundaryRange> straddlers_;
  std::vector<BoundaryRange> on_step_boundary_;
  std::vector<BoundaryRange>
      recent_ranges_;          // ranges whose step may not have been told yet: a ring
  std::size_t recent_at_ = 0;  // where the next one goes once the ring is full
  std::uint64_t user_steps_ = 0;
  std::vector<PendingGpuEvent> undecided_;
};

}  // namespace gpuprof::exporter
