// SPDX-License-Identifier: Apache-2.0
//
// Host calls and GPU work meet the launch they belong to.
//
// Context:  daemon (ingest thread)
// Owns:     the records that wait
// Promises: a record waits for one whole drain round, so that a launch from another lane is
//           there; one host call per correlation id goes out, the outer one; records with bad
//           times are counted and never go out
// Not here: the launches (launches.hpp), the clocks (clocks.hpp)
#pragma once

#include <vector>

#include "daemon/ingest/clocks.hpp"
#include "daemon/ingest/held.hpp"
#include "daemon/ingest/launches.hpp"

namespace gpuprof::ingest {

class Joins {
 public:
  Joins(Names& names, model::EventSink& sink, LossBook& losses, Clocks& clocks,
        const Lifetime& life, Launches& launches, EventCounts& counts)
      : names_(names),
        sink_(sink),
        losses_(losses),
        clocks_(clocks),
        life_(life),
        launches_(launches),
        counts_(counts) {}

  void add(const wire::ApiCall& call) { api_.push_back({call, 0}); }
  void add(const wire::KernelExec& kernel);
  void add(const wire::MemCopy& copy);
  void add(const wire::MemSet& set);
  void add(const wire::Sync& sync) { syncs_.push_back(sync); }
  void add(const wire::GraphExec& graph);
  void add(const wire::Overhead& overhead) { overheads_.push_back(overhead); }

  /// A drain round is over: what came before it is joined and goes out.
  void round_done();
  /// Everything goes out now, whatever it still waits for.
  void finish();

 private:
  struct HeldCall {
    wire::ApiCall call;
    std::uint32_t rounds;
  };
  struct Ripe {
    std::size_t api = 0, kernels = 0, copies = 0, sets = 0, syncs = 0, graphs = 0, overheads = 0;
  };

  void join_calls(std::size_t ripe, bool last);
  bool join_call(const wire::ApiCall& call, bool wait);
  void out(const wire::KernelExec& kernel);
  void out(const wire::MemCopy& copy);
  void out(const wire::MemSet& set);
  void out(const wire::Sync& sync);
  void out(const wire::GraphExec& graph);
  void out(const wire::Overhead& overhead);
  bool good_times(std::uint64_t start_ns, std::uint64_t end_ns, bool flagged);
  bool lived(std::uint64_t start_ns, std::uint64_t end_ns);
  const LaunchEntry* launch_of(std::uint32_t correlation);
  template <typename E, typename R>
  E joined(const R& record, const LaunchEntry& launch);
  template <typename R>
  void release(std::vector<R>& queue, std::size_t ripe);

  Names& names_;
  model::EventSink& sink_;
  LossBook& losses_;
  Clocks& clocks_;
  const Lifetime& life_;
  Launches& launches_;
  EventCounts& counts_;
  Ripe ripe_;
  std::vector<HeldCall> api_;
  std::vector<wire::KernelExec> kernels_;
  std::vector<wire::MemCopy> copies_;
  std::vector<wire::MemSet> sets_;
  std::vector<wire::Sync> syncs_;
  std::vector<wire::GraphExec> graphs_;
  std::vector<wire::Overhead> overheads_;
};

}  // namespace gpuprof::ingest
