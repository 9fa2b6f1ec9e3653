// SPDX-License-Identifier: Apache-2.0
//
// Which loop, or which optimizer, is the step: rules over what is known.
//
// Context:  daemon; pure
// Owns:     nothing
// Not here: when it is asked and what follows (step_finder.hpp)
#pragma once

#include <cstdint>

#include "daemon/ingest/loops/loop_locations.hpp"
#include "daemon/ingest/loops/loop_registry.hpp"
#include "daemon/ingest/steps/step_search.hpp"
#include "gpuprof/wire/segment.hpp"

namespace gpuprof::ingest {

/// How much must be known before something is chosen.
enum class SearchPhase : std::uint8_t {
  kEarly,     // a loop may still prove to be a warm-up, or the inner one of two
  kTimedOut,  // the time for looking is over; the program goes on
  kEnded,     // nothing follows
};

/// Confidences, in per cent.
inline constexpr std::uint32_t kConfidenceNamed = 100, kConfidenceOptimizerLoop = 95,
                               kConfidenceLoop = 80, kConfidenceOptimizer = 70,
                               kConfidencePeriod = 50;

struct StepChoice {
  wire::StepSource source = wire::StepSource::kNone;
  std::uint32_t confidence = 0;
  const Loop* loop = nullptr;        // kLoop
  bool with_optimizer = false;       // kLoop: every optimizer seen ran inside
  std::uint64_t optimizer_name = 0;  // kOptimizer: StringDef::id
  bool backward = false;             // busiest_loop(): autograd may have gone backward inside
  bool with_graphs = false;          // kLoop: its iterations replay CUDA graphs

  explicit operator bool() const { return source != wire::StepSource::kNone; }
  wire::StepRule rule() const;
  std::uint64_t key() const;
};

/// The loop on the line that was asked for.
StepChoice named_loop(const LoopRegistry& registry, const LoopLocations& places,
                      const StepSearch& search, SearchPhase timeout);
/// The innermost loop that holds every optimizer since it was entered first.
StepChoice loop_with_optimizer(const LoopRegistry& registry, SearchPhase timeout);
/// The innermost loop outside of modules that replays CUDA graphs, where no optimizer runs outside
/// of them any more.
StepChoice loop_with_graphs(const LoopRegistry& registry, SearchPhase timeout);
/// The innermost loop outside of modules that holds nearly all operator time.
StepChoice busiest_loop(const LoopRegistry& registry, std::uint64_t now_ns, SearchPhase timeout);
/// The last optimizer of those that take turns.
StepChoice last_optimizer(const LoopRegistry& registry, SearchPhase timeout);

/// The best of the above that `search` allows.
StepChoice choose_step(const LoopRegistry& registry, const LoopLocations& places,
                       const StepSearch& search, std::uint64_t now_ns, SearchPhase timeout);

}  // namespace gpuprof::ingest
