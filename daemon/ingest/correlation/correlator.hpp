// SPDX-License-Identifier: Apache-2.0
//
// Host calls and GPU work meet the launch they belong to.
//
// Context:  daemon (ingest thread)
// Owns:     the records that wait
// Promises: a record waits for one whole drain round, so that a launch from another lane is
//           there; besides, but not long, for what its clock's next readings tell and, where host
//           calls come as records, for its own; one host call per correlation id goes out, the
//           outer one; a call without a launch belongs to what its thread was in by then; records
//           with bad times are counted and never go out
// Not here: the launches (correlation_table.hpp), what threads were in (range_history.hpp), the
// clocks
//           (clock_tracker.hpp)
#pragma once

#include <vector>

#include "daemon/ingest/clocks/clock_tracker.hpp"
#include "daemon/ingest/correlation/correlation_table.hpp"
#include "daemon/ingest/correlation/range_history.hpp"
#include "daemon/ingest/ranges/pending_events.hpp"

namespace gpuprof::ingest {

class Joins {
 public:
  Joins(Names& names, model::EventSink& sink, LossBook& losses, Clocks& clocks,
        const Lifetime& life, Launches& launches, const OwnerTrail& owners, EventCounts& counts)
      : names_(names),
        sink_(sink),
        losses_(losses),
        clocks_(clocks),
        life_(life),
        launches_(launches),
        owners_(owners),
        counts_(counts) {}

  /// @param place  where it stands among the clock readings.
  void add(const wire::ApiCall& call, Place place);
  void add(const wire::KernelExec& kernel, Place place);
  void add(const wire::MemCopy& copy, Place place);
  void add(const wire::MemSet& set, Place place);
  void add(const wire::Sync& sync, Place place);
  void add(const wire::GraphExec& graph, Place place);
  void add(const wire::Overhead& overhead, Place place);

  /// A drain round is over: what came before it is joined and goes out.
  void round_done();
  /// The next rounds wait for no clock: a file is about to be written.
  void hurry();
  /// Everything goes out now, whatever it still waits for.
  void finish();

 private:
  template <typename R>
  struct Waiting {
    R record;
    Place place;
    std::uint32_t rounds = 0;
  };
  struct HeldCall {
    wire::ApiCall record;
    Place place;
    std::uint32_t rounds;
  };
  struct Ripe {
    std::size_t api = 0, kernels = 0, copies = 0, sets = 0, syncs = 0, graphs = 0, overheads = 0;
  };

  void release_all(bool last);
  void join_calls(std::size_t ripe, bool last);
  bool join_call(const HeldCall& held, bool wait);
  bool awaits_its_call(std::uint32_t correlation, std::uint32_t rounds) const;
  bool is_duplicate(const wire::ApiCall& call, LaunchEntry* entry);
  void join_own_call(const wire::ApiCall& call);
  bool times_of(const HeldCall& held, const LaunchEntry* entry, Span* times);
  void write_call(const wire::ApiCall& call, LaunchEntry* entry, const Span& times);
  void out(const wire::KernelExec& kernel, const LaunchEntry* launch, const Span& times);
  void out(const wire::MemCopy& copy, const LaunchEntry* launch, const Span& times);
  void out(const wire::MemSet& set, const LaunchEntry* launch, const Span& times);
  void out(const wire::Sync& sync, const LaunchEntry* launch, const Span& times);
  void out(const wire::GraphExec& graph, const LaunchEntry* launch, const Span& times);
  void out(const wire::Overhead& overhead, const LaunchEntry* launch, const Span& times);
  bool good_times(std::uint64_t start_ns, std::uint64_t end_ns, bool flagged);
  bool convert(Span* times, Place place, const Bounds& bounds);
  Bounds bounds_of(std::uint32_t correlation, const LaunchEntry* launch);
  template <typename E, typename R>
  E joined(const R& record, const LaunchEntry* launch, const Span& times);
  template <typename Q>
  std::size_t settled(const Q& queue, std::size_t ripe);
  template <typename R>
  void release(std::vector<Waiting<R>>& queue, std::size_t ripe);

  Names& names_;
  model::EventSink& sink_;
  LossBook& losses_;
  Clocks& clocks_;
  const Lifetime& life_;
  Launches& launches_;
  const OwnerTrail& owners_;
  EventCounts& counts_;
  Ripe ripe_;
  std::uint32_t stalled_rounds_ = 0, hurried_rounds_ = 0;
  std::uint32_t record_rounds_ = 0;  // for so many rounds calls are thought to come as records
  bool stalled_ = false;
  std::vector<HeldCall> api_;
  std::vector<Waiting<wire::KernelExec>> kernels_;
  std::vector<Waiting<wire::MemCopy>> copies_;
  std::vector<Waiting<wire::MemSet>> sets_;
  std::vector<Waiting<wire::Sync>> syncs_;
  std::vector<Waiting<wire::GraphExec>> graphs_;
  std::vector<Waiting<wire::Overhead>> overheads_;
};

}  // namespace gpuprof::ingest
