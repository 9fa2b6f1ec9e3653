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
inline constexpr std::int64_t kStreamSyncOffset = 1'000'000;
/// Row of a synchronisation on its device; -1: it concerns no stream.
std::int64_t sync_row(const model::Sync& sync);

/// As many ranges are cut at a window's border; each outer one a nanosecond later.
inline constexpr std::size_t kMaxStraddlers = 10'000;

/// The viewers know memory of the host and of CUDA devices.
inline bool is_known_memory(const model::Allocation& e) {
  return e.device_type == 0 || (e.device_type == 1 && e.device >= 0 && e.device < 64);
}

struct Survey {
  struct Thread {
    std::string name;
    bool drawn = false, sampled = false;
    bool masked = false;  // it blocked our signal, for a while at least: first seen in this window
    std::uint64_t masked_ns = 0;  // when that was first seen; 0: never
    std::uint64_t running_samples = 0, blocked_samples = 0;
    std::uint64_t sampled_cpu_ns = 0;    // CPU time the running samples stand for
    std::uint64_t last_call_end_ns = 0;  // calls that began inside the window
  };
  struct Clip {
    std::uint64_t start_ns, end_ns;
  };
  struct KeptLoss {
    std::uint64_t in_window = 0, total = 0, first_ns = ~0ULL, last_ns = 0;
  };
  struct Clock {
    std::uint64_t pairs = 0, worst_gap_ns = 0;
    std::int64_t first_offset_ns = 0, last_offset_ns = 0;  // REALTIME - MONOTONIC
  };

  explicit Survey(Texts texts = Texts::kJson);
  ~Survey();  // here and below not inline: its maps are instantiated once, not in every writer
  Survey(const Survey&) = delete;
  Survey& operator=(const Survey&) = delete;

  model::Window window;
  NameTable names;
  InputsText inputs;
  ModulePaths modules;
  Collectives collectives;
  OpenCopies copies;
  std::uint32_t pid = 0, ppid = 0;
  std::string exe, command_line;
  std::map<std::uint32_t, Thread> threads;
  std::map<std::uint32_t, model::Device> devices;
  std::unordered_map<std::uint32_t, model::Context> contexts;
  std::map<std::uint32_t, std::string> domains;
  std::map<std::string, std::string> facts;
  model::KeptNotices notices;
  std::map<std::uint32_t, KeptLoss> losses;
  Clock clock;
  std::set<std::pair<std::uint32_t, std::int64_t>> gpu_rows;   // device, stream (-1: none)
  std::set<std::pair<std::uint32_t, std::int64_t>> sync_rows;  // device, row
  std::vector<model::Step> steps;                              // whole ones inside the window
  std::unordered_set<std::uint64_t> followed_ends;  // of steps, something else begins at once
  PagedBits launched;                  // correlation ids of the host calls that are kept
  std::uint32_t first_launched = ~0U;  // lowest of them
  PagedBits launched_before;           // … of host calls before the window, where calls were lost
  bool before_known = false;           // whether those were looked for
  PagedBits on_gpu;                    // correlation ids of GPU events
  PagedBits ranges_seen;               // ids of the ranges that become operators
  std::unordered_map<model::RangeId, Clip> clipped;
  std::unordered_map<model::RangeId, Place> not_operators;  // push/pop ranges among steps
  std::set<model::StringId> step_operators;  // names of ranges around steps that launch themselves
  std::array<std::uint64_t, static_cast<std::size_t>(Counted::kCount)> counts{};
  std::array<std::uint64_t, static_cast<std::size_t>(Shortfall::kCount)> shortfalls{};
  bool replay_complete = true;
  bool cut_short = false;              // the spool lacks its end, and that is part of this window
  bool samples_wanted = true;          // the options asked for stacks of samples
  bool stacks_wanted = true;           // … and of PyTorch's operators
  std::uint64_t sample_period_ns = 0;  // CPU time between two of a thread; 0: not known

  std::uint64_t& count(Counted kind) { return counts[static_cast<std::size_t>(kind)]; }
  std::uint64_t count(Counted kind) const { return counts[static_cast<std::size_t>(kind)]; }
  std::uint64_t& count(Shortfall kind) { return shortfalls[static_cast<std::size_t>(kind)]; }
  std::uint64_t events() const;

  bool inside(std::uint64_t start_ns) const {
    return start_ns >= window.start_ns && start_ns < window.end_ns;
  }
  /// No file's window has its host call. Where those before the window are not known, ids tell:
  /// they grow with time.
  bool call_lost(std::uint32_t correlation) const {
    if (launched.test(correlation)) return false;
    return before_known ? !launched_before.test(correlation) : correlation > first_launched;
  }
  /// Nothing tells launches: CUDA calls were not recorded.
  bool without_calls() const { return launched.empty() && launched_before.empty(); }
  /// A GPU event belongs to the file of its launch; where that is not known, to that of its start.
  bool keeps_gpu(std::uint32_t correlation, std::uint64_t start_ns) const {
    if (without_calls() || call_lost(correlation)) return inside(start_ns);
    return launched.test(correlation);
  }
  bool overlaps(const Interval& range) const {
    return range.start_ns < window.end_ns &&
           (range.end_ns > window.start_ns || range.start_ns >= window.start_ns);
  }
  /// It does not nest, or too deep, and is drawn apart.
  bool crosses(const model::Operator& op) const {
    if ((op.flags & model::kRangeDeep) != 0) return true;
    return (op.flags & model::kRangeCrossing) != 0 && collectives.rejoined(op.id) == nullptr;
  }
  /// Where ranges of a thread are cut: its last call may end after the window.
  std::uint64_t border_ns(std::uint32_t tid) const;
  /// A range or operator as long as it is: what is still open reaches over the border.
  template <typename E>
  E whole(E e) const {
    if (OpenCopies::lasts(e)) e.end_ns = std::max(e.end_ns, border_ns(e.tid) + kMaxStraddlers);
    return e;
  }
  /// How a push/pop range or operator is drawn: cut at the window, placed among the steps.
  Placed placed(model::RangeId id, std::uint32_t tid, Interval range) const;
  /// The id to write on a call or GPU event: 0 unless the file has that operator.
  model::RangeId operator_of(model::RangeId range) const {
    return range != 0 && ranges_seen.test(range) && !not_operators.contains(range) ? range : 0;
  }
  /// The device of an event; contexts know it where the event does not.
  std::uint32_t device_of(std::uint32_t device, std::uint32_t context) const;
  /// Thread that steps, else the process's first thread.
  std::uint32_t main_tid() const;
};

/// Gathers a Survey; call finish() after the replay.
class Surveyor final : public model::IgnoringSink {
 public:
  Surveyor(Survey& survey, StackText& stacks);
  ~Surveyor() override;

  using model::IgnoringSink::on;
  void on(const model::StringDef& e) override {
    s_.names.define(e.id, e.text);
    stacks_.define(e);
  }
  void on(const model::StackDef& e) override {
    stacks_.define(e);
    s_.modules.define(e);
  }
  void on(const model::TorchModule& e) override { s_.modules.define(e); }
  void on(const model::PythonCode& e) override { stacks_.define(e); }
  void on(const model::Module& e) override { stacks_.define(e); }
  void on(const model::ModuleGone& e) override { stacks_.define(e); }
  void on(const model::Process& e) override;
  void on(const model::ProcessEnd& e) override { stacks_.define(e); }
  void on(const model::ThreadName& e) override;
  void on(const model::Inputs& e) override { s_.inputs.define(e); }
  void on(const model::Domain& e) override;
  void on(const model::Fact& e) override;
  void on(const model::Notice& e) override;
  void on(const model::Loss& e) override;
  void on(const model::ClockPair& e) override;
  void on(const model::Device& e) override;
  void on(const model::Context& e) override;
  void on(const model::Sample& e) override;
  void on(const model::Range& e) override;
  void on(const model::Operator& e) override;
  void on(const model::Allocation& e) override;
  void on(const model::Step& e) override;
  void on(const model::ApiCall& e) override;
  void on(const model::Kernel& e) override;
  void on(const model::MemCopy& e) override { gpu(e, Counted::kMemCopy); }
  void on(const model::MemSet& e) override { gpu(e, Counted::kMemSet); }
  void on(const model::GraphExec& e) override { gpu(e, Counted::kGraph); }
  void on(const model::Sync& e) override;
  void on(const model::Overhead& e) override;

  void finish();

 private:
  struct Straddler {
    model::RangeId id;
    std::uint32_t tid;
    model::StringId name;
    std::uint64_t start_ns, end_ns;
  };
  struct Undecided {
    std::uint32_t correlation;
    Counted kind;
    bool in_time;
  };

  Survey::Thread& thread(std::uint32_t tid);
  void name_thread(const model::ThreadName& e);
  void take(const model::Range& e);
  void take(const model::Operator& e);
  template <typename E>
  void gpu(const E& event, Counted kind);
  void nested(const Straddler& range);
  bool is_apart(std::uint32_t flags);
  void decide(const Undecided& event);
  void follows(const model::Step& step, const Straddler& range);
  void clip_straddlers();
  void place_ranges();

  Survey& s_;
  StackText& stacks_;
  Survey::Thread* last_thread_ = nullptr;  // events of a thread come in runs
  std::uint32_t last_tid_ = 0;
  PagedBits owners_;  // ranges that were innermost at some call
  std::vector<Straddler> straddlers_;
  std::vector<Straddler> on_step_border_;
  std::vector<Straddler> recent_;  // ranges whose step may not have been told yet: a ring
  std::size_t recent_at_ = 0;      // where the next one goes once the ring is full
  std::uint64_t user_steps_ = 0;
  std::vector<Undecided> undecided_;
};

}  // namespace gpuprof::exporter
