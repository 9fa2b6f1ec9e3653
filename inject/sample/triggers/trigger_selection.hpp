// SPDX-License-Identifier: Apache-2.0
//
// Which trigger is used.
//
// Context:  worker
#pragma once

#include "inject/sample/triggers/trigger.hpp"

namespace gpuprof::sample {

/// Of what was requested, what can be used in this program; reports what cannot be and why.
/// @param no_perf  Its signals might become SIGIO here.
/// @return null: running threads are not sampled.
const TriggerKind* choose_trigger(wire::SamplerKind asked, const TriggerPlan& plan, bool no_perf);

}  // namespace gpuprof::sample
