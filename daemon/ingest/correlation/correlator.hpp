// SPDX-License-Identifier: Apache-2.0
//
// Finds the launch of each host call and each piece of GPU work.
//
// Context:  daemon (ingest thread)
// Owns:     the records that wait
// Promises: a record waits for one whole drain round, so that a launch from another ring buffer is
//           there; besides, but not long, for what its clock's next readings tell and, where host
//           calls come as records, for its own; one host call per correlation id goes out, the
//           outer one; a call without a launch belongs to what its thread was in by then; records
//           with bad times are counted and never go out
// Not here: the launches (correlation_table.hpp), what threads were in (range_history.hpp), the
//           clocks (clock_tracker.hpp)
#pragma once

#include <vector>

#include "daemon/ingest/clocks/clock_tracker.hpp"
#include "daemon/ingest/correlation/correlation_table.hpp"
#include "daemon/ingest/correlation/range_history.hpp"
#include "daemon/ingest/ranges/pending_events.hpp"

namespace gpuprof::ingest {

class Correlator {
 public:
  Correlator(Definitions& names, model::EventSink& sink, LossCounters& losses, ClockTracker& clocks,
             const Lifetime& life, CorrelationTable& launches, const RangeHistory& owners,
             EventCounts& counts)
      : names_(names),
        sink_(sink),
        losses_(losses),
        clocks_(clocks),
        life_(life),
        launches_(launches),
        owners_(owners),
        counts_(counts) {}

  /// @param place  where it stands among the clock readings.
  void add(const wire::ApiCall& call, ReadingPosition place);
  void add(const wire::KernelExec& kernel, ReadingPosition place);
  void add(const wire::MemCopy& copy, ReadingPosition place);
  void add(const wire::MemSet& set, ReadingPosition place);
  void add(const wire::Sync& sync, ReadingPosition place);
  void add(const wire::GraphExec& graph, ReadingPosition place);
  void add(const wire::Overhead& overhead, ReadingPosition place);

  /// A drain round is over: what came before it is joined and goes out.
  void round_done();
  /// The next rounds wait for no clock: a file is about to be written.
  void hurry();
  /// Everything goes out now, whatever it still waits for.
  void finish();

 private:
  template <typename R>
  struct Pending {
    R record;
    ReadingPosition place;
    std::uint32_t rounds = 0;
  };
  struct PendingCall {
    wire::ApiCall record;
    ReadingPosition place;
    std::uint32_t rounds;
  };
  struct AgedCounts {
    std::size_t api = 0, kernels = 0, copies = 0, sets = 0, syncs = 0, graphs = 0, overheads = 0;
  };

  void release_all(bool last);
  void correlate_calls(std::size_t aged, bool last);
  bool correlate_call(const PendingCall& held, bool wait);
  bool awaits_its_call(std::uint32_t correlation, std::uint32_t rounds) const;
  bool is_duplicate(const wire::ApiCall& call, LaunchEntry* entry);
  void correlate_own_call(const wire::ApiCall& call);
  bool times_of(const PendingCall& held, const LaunchEntry* entry, TimeSpan* times);
  void write_call(const wire::ApiCall& call, LaunchEntry* entry, const TimeSpan& times);
  void emit(const wire::KernelExec& kernel, const LaunchEntry* launch, const TimeSpan& times);
  void emit(const wire::MemCopy& copy, const LaunchEntry* launch, const TimeSpan& times);
  void emit(const wire::MemSet& set, const LaunchEntry* launch, const TimeSpan& times);
  void emit(const wire::Sync& sync, const LaunchEntry* launch, const TimeSpan& times);
  void emit(const wire::GraphExec& graph, const LaunchEntry* launch, const TimeSpan& times);
  void emit(const wire::Overhead& overhead, const LaunchEntry* launch, const TimeSpan& times);
  bool good_times(std::uint64_t start_ns, std::uint64_t end_ns, bool flagged);
  bool convert(TimeSpan* times, ReadingPosition place, const TimeBounds& bounds);
  TimeBounds bounds_of(std::uint32_t correlation, const LaunchEntry* launch);
  template <typename E, typename R>
  E make_event(const R& record, const LaunchEntry* launch, const TimeSpan& times);
  template <typename Q>
  std::size_t ready_count(const Q& queue, std::size_t aged);
  template <typename R>
  void release(std::vector<Pending<R>>& queue, std::size_t aged);

  Definitions& names_;
  model::EventSink& sink_;
  LossCounters& losses_;
  ClockTracker& clocks_;
  const Lifetime& life_;
  CorrelationTable& launches_;
  const RangeHistory& owners_;
  EventCounts& counts_;
  AgedCounts aged_;
  std::uint32_t stalled_rounds_ = 0, hurried_rounds_ = 0;
  std::uint32_t record_rounds_ = 0;  // for so many rounds calls are thought to come as records
  bool stalled_ = false;
  std::vector<PendingCall> api_;
  std::vector<Pending<wire::KernelExec>> kernels_;
  std::vector<Pending<wire::MemCopy>> copies_;
  std::vector<Pending<wire::MemSet>> sets_;
  std::vector<Pending<wire::Sync>> syncs_;
  std::vector<Pending<wire::GraphExec>> graphs_;
  std::vector<Pending<wire::Overhead>> overheads_;
};

}  // namespace gpuprof::ingest
