// SPDX-License-Identifier: Apache-2.0
//
// Sorted records of a file into the spools of its processes: nesting, owners, launches.
//
// Context:  cli through analysis/commands
// Owns:     what is open on the threads, and what was launched lately; bounded but for the former
// Promises: events come in the order in which they end, of those that end together the inner first
// Not here: reading and sorting (classify.hpp, sorter.hpp)
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "analysis/import/classify/classify.hpp"
#include "analysis/import/emit/open_frames.hpp"
#include "analysis/import/emit/session_process.hpp"
#include "analysis/import/emit/track_owners.hpp"
#include "analysis/import/emit/two_generation_map.hpp"
#include "analysis/import/import.hpp"

namespace gpuprof::importer {

class Emitter {
 public:
  /// @param processes By row; null: it is no process of its own.
  /// @param owners    Of the same file, its votes counted.
  /// @param add_ns    To the file's times, to make them the session's.
  /// @param window    The file's, on the session's line.
  Emitter(InternedTables& names, FileContent& content, TrackOwners& owners,
          std::vector<SessionProcess*> processes, std::int64_t add_ns, const model::Window& window,
          std::vector<PythonCall>& python);

  support::Result<void> run();
  /// GPU events, of files with several processes, of which nothing tells whose they are.
  std::uint64_t ownerless_gpu_events() const { return ownerless_; }
  /// What a table shows.
  std::uint64_t events() const { return events_; }

 private:
  struct Thread {
    OpenFrames frames;
    std::vector<std::uint32_t> open;  // operators and ranges, outermost first
    std::uint32_t last_call = 0;      // place in `pool_`, + 1
    std::uint64_t last_call_order = 0;
  };
  struct Process {
    SessionProcess* session = nullptr;
    std::unordered_map<std::uint32_t, Thread> threads;
    std::uint32_t last_tid = 0;
    Thread* last = nullptr;
    std::uint32_t first_launched = 0;  // lowest correlation of a call so far; 0: none came
    std::uint64_t unlaunched = 0;      // GPU events whose launch the file does not tell
  };
  /// What ends later: a place in `pool_`.
  struct PendingEnd {
    std::int64_t end_ns;
    std::uint64_t order;  // the later it began, the sooner of two that end together
    std::uint32_t slot;
  };
  struct LaterEnd {
    bool operator()(const PendingEnd& a, const PendingEnd& b) const {
      return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.order < b.order;
    }
  };
  struct Launch {
    std::uint32_t correlation = 0, tid = 0;
    model::RangeId range = 0;
    std::int64_t start_ns = 0;
    std::uint16_t process = kNoProcess;
  };
  /// What an arrow leads to.
  struct FlowTarget {
    std::uint32_t tid = 0;
    std::int64_t ns = 0;
    std::uint64_t id = 0;
  };
  /// Of what came last so much is remembered at least, each by its number.
  static constexpr std::size_t kRecentCount = 1u << 17;
  static constexpr std::size_t kMaxNested = 10'000;
  /// "Record function id"s of operators, beside their external ids.
  static constexpr std::uint64_t kRecordFunctionIdBit = 1ULL << 62;
  /// Below this many, ranges and operators are drawn apart: viewers give up.
  static constexpr std::size_t kMaxNestedDepth = 100;

  /// What the window's readers take: by their begin; ranges and operators that reach into it.
  bool starts_in_window(std::int64_t start_ns) const {
    return start_ns >= window_from_ns_ && start_ns < window_to_ns_;
  }
  bool overlaps_window(const ParsedEvent& r) const {
    return r.start_ns < window_to_ns_ &&
           (r.end_ns > window_from_ns_ || r.start_ns >= window_from_ns_);
  }
  bool gpu_reaches(const ParsedEvent& r, const Launch& launch) const;
  /// Is in no table, and so not written.
  void skip_outside_window(const ParsedEvent& r) {
    content_.account.move_to_skipped(SkipReason::kOutsideWindow, label_of(r.kind));
    events_ -= is_event(r.kind) ? 1 : 0;
  }
  std::uint64_t at(std::int64_t ns) const { return static_cast<std::uint64_t>(ns + add_ns_); }
  Thread& thread(Process& process, std::uint32_t tid);
  void take(const ParsedEvent& given);
  void report_missing_launches(const Process& process);
  void call(const ParsedEvent& r);
  /// The call that began last on a thread and has not ended; null: none.
  OpenOperator* open_call(const Thread& own);
  void launch_flow(const ParsedEvent& r);
  void work_flow(const ParsedEvent& r);
  void frame(const ParsedEvent& r);
  void open(const ParsedEvent& r);
  void span(const ParsedEvent& r);
  void backward_flow(const ParsedEvent& r);
  void step_operator(const ParsedEvent& r);
  std::uint32_t add_pending(const ParsedEvent& r);
  void flush(std::int64_t until_ns);
  void close(std::uint32_t slot);
  void remember_range(const ParsedEvent& r, model::RangeId id);
  model::RangeId range_of(std::uint16_t process, std::uint64_t external_id, const Thread* thread);
  static std::uint64_t time_and_thread_key(const ParsedEvent& r) {
    return static_cast<std::uint64_t>(r.start_ns) * 31 + r.tid;
  }
  const Launch* launch_of(std::uint16_t process, std::uint32_t correlation) const;
  const Launch* launch_by_flow(const ParsedEvent& r) const;
  Launch find_launch(const ParsedEvent& r);
  std::uint32_t forward_tid(const ParsedEvent& r) const;

  void write_operator(const OpenOperator& o);
  void write_range(const OpenOperator& o, model::RangeKind kind);
  void write_call(const OpenOperator& o);
  void write_step(const ParsedEvent& r);
  void write_allocation(const ParsedEvent& r);
  void write_sample(const ParsedEvent& r);
  void write_overhead(const ParsedEvent& r);
  void write_gpu(const ParsedEvent& r);
  std::uint32_t written_correlation(const ParsedEvent& r, const Launch& launch);
  template <typename E>
  void write_gpu_event(const ParsedEvent& r, const Launch& launch, SessionProcess& to, E e);

  InternedTables& names_;
  FileContent& content_;
  TrackOwners& owners_;
  std::vector<Process> processes_;
  std::int64_t add_ns_;
  std::int64_t window_from_ns_, window_to_ns_;  // on the file's line
  std::vector<PythonCall>& python_;
  std::vector<OpenOperator> pool_;
  std::vector<std::uint32_t> free_;
  std::priority_queue<PendingEnd, std::vector<PendingEnd>, LaterEnd> endings_;
  std::uint64_t order_ = 1;
  TwoGenerationMap<model::RangeId> ranges_{kRecentCount};   // by external id
  TwoGenerationMap<Launch> launches_{kRecentCount};         // by correlation
  TwoGenerationMap<std::uint32_t> forwards_{kRecentCount};  // threads by sequence number
  TwoGenerationMap<Launch> links_{kRecentCount};  // what an arrow comes from, by its number
  TwoGenerationMap<FlowTarget> flow_targets_{kRecentCount};  // by time_and_thread_key()
  std::uint32_t made_correlation_ = kFirstSyntheticCallId;
  std::uint64_t ownerless_ = 0, events_ = 0;
  std::uint32_t synthetic_ids_ = 0;  // to GPU events that no launch was found of
};

}  // namespace gpuprof::importer
