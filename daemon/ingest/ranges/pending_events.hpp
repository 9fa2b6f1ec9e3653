// SPDX-License-Identifier: Apache-2.0
//
// Samples and ranges on their way out: one whose stack or name is still unknown waits a round.
//
// Context:  daemon (ingest thread)
// Owns:     the waiting events
// Promises: nothing waits longer than one full round; what is complete goes out at once; what lies
//           outside the process's life does not go out
// Not here: GPU and API records, which always wait for their launch (correlator.hpp)
#pragma once

#include <vector>

#include "daemon/ingest/decode/definitions.hpp"
#include "daemon/ingest/decode/lifetime.hpp"
#include "recording/model/events.hpp"

namespace gpuprof::ingest {

/// Counts of what went out, for the summary and for choosing who gets a file.
struct EventCounts {
  std::uint64_t samples = 0, cpu_ns = 0;
  std::uint64_t ranges = 0, steps = 0, api_calls = 0, gpu_events = 0;
  std::uint64_t operators = 0, allocations = 0;
  std::uint64_t launches = 0, contexts = 0;  // seen, GPU events or not
  std::uint64_t launches_unseen = 0;         // GPU records whose launch was not seen
  std::uint64_t kernels_before_launch = 0;   // by the clocks; kept as they are
};

class PendingEvents {
 public:
  PendingEvents(Definitions& names, model::EventSink& sink, LossCounters& losses,
                const Lifetime& life, EventCounts& counts)
      : names_(names), sink_(sink), losses_(losses), life_(life), counts_(counts) {}

  void send(const model::Sample& sample) {
    if (!life_.contains(sample.ts_ns)) return count_lost(sample.tid);
    if (names_.stack_ready(sample.stack)) return out(sample);
    samples_.waiting.push_back(sample);
  }
  void send(const model::Range& range) {
    if (!life_.contains(range.start_ns, range.end_ns)) return count_lost(range.tid);
    if (names_.stack_ready(range.stack) && names_.string_ready(range.name)) return out(range);
    ranges_.waiting.push_back(range);
  }

  /// A copy of an open one goes out before whatever follows.
  void emit_snapshot(const model::Range& range) {
    if (!life_.contains(range.start_ns, range.end_ns)) return;  // counted when it ends
    names_.resolve_stack(range.stack);
    names_.resolve_string(range.name);
    sink_.on(range);
  }

  /// A drain round is over: what waited for all of it goes out, defined or lost.
  void round_done() {
    for (const model::Sample& sample : samples_.take_due()) {
      names_.resolve_stack(sample.stack);
      out(sample);
    }
    for (const model::Range& range : ranges_.take_due()) {
      names_.resolve_stack(range.stack);
      names_.resolve_string(range.name);
      out(range);
    }
  }

  bool empty() const { return samples_.empty() && ranges_.empty(); }

 private:
  template <typename E>
  struct Queue {
    std::vector<E> waiting, aged;
    /// Those that have waited for a full round; what is waiting now is next.
    std::vector<E> take_due() {
      std::vector<E> due;
      due.swap(aged);
      aged.swap(waiting);
      return due;
    }
    bool empty() const { return waiting.empty() && aged.empty(); }
  };

  void count_lost(std::uint32_t tid) {
    losses_.add(model::LossReason::kTimeImplausible, tid, 1, 0, 0);
  }

  void out(const model::Sample& sample) {
    ++counts_.samples;
    if (sample.state == 0) counts_.cpu_ns += sample.weight_ns;
    sink_.on(sample);
  }
  void out(const model::Range& range) {
    ++counts_.ranges;
    sink_.on(range);
  }

  Definitions& names_;
  model::EventSink& sink_;
  LossCounters& losses_;
  const Lifetime& life_;
  EventCounts& counts_;
  Queue<model::Sample> samples_;
  Queue<model::Range> ranges_;
};

}  // namespace gpuprof::ingest
