// SPDX-License-Identifier: Apache-2.0
//
// Links the events of a timeline: parents, owners and launches.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {

/// Sorts events, finds parents, owners, launches and stacks.
///
/// @param launched_only  GPU work whose call is not there is left out.
void link_events(Timeline& timeline, Dictionary& dictionary, bool launched_only);

}  // namespace gpuprof::report
