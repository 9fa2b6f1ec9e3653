// SPDX-License-Identifier: Apache-2.0
//
// Which trigger is used.
//
// Context:  worker
// Owns:     nothing
#pragma once

#include "inject/sample/triggers/trigger.hpp"

namespace gpuprof::sample {

/// Of what was asked for, what can be used in this program; says what cannot and why.
/// @param no_perf  Its signals might become SIGIO here.
/// @return null: running threads are not sampled.
const TriggerKind* choose_trigger(wire::SamplerKind asked, const TriggerPlan& plan, bool no_perf);

}  // namespace gpuprof::sample
