// SPDX-License-Identifier: Apache-2.0
//
// Steps from the repetition of operator names, and from the ends of optimizers.
//
// Context:  daemon; pure
// Owns:     nothing
// Promises: nothing rather than a guess: two methods must agree on the period
#pragma once

#include <vector>

#include "daemon/ingest/loops/loop_registry.hpp"
#include "daemon/ingest/steps/operator_history.hpp"
#include "daemon/ingest/steps/step_tracker.hpp"

namespace gpuprof::ingest {

/// Operators of one step; 0: they do not repeat, or not surely.
std::size_t find_period(const std::vector<OperatorHistory::Op>& ops);

/// Steps of that many operators. They begin where autograd begins to follow again after an
/// optimizer, else with the first operator that repeats. None where several optimizers end.
std::vector<FoundStep> cut_by_period(const std::vector<OperatorHistory::Op>& ops,
                                     std::size_t period);

/// Steps that end where an optimizer of that name ends. The first begins where the operators begin
/// that come again after its end.
std::vector<FoundStep> cut_by_optimizer(const std::vector<OperatorHistory::Op>& ops,
                                        const std::vector<OptimizerEnd>& ends,
                                        std::uint64_t name_id);

}  // namespace gpuprof::ingest
