// SPDX-License-Identifier: Apache-2.0
//
// Switches of CUPTI that are one for the whole process, as we need them, and as they were.
//
// Context:  worker | boundary, under the component's lock
// Owns:     nothing: the state is SavedAttributes in CuptiState
// Promises: none of ours is left when the program's own profiler goes on, or when we detach; what
//           the program has set meanwhile stays
// Not here: kinds and callbacks (activity_kinds.hpp)
#pragma once

namespace gpuprof::cupti {

struct CuptiState;

/// Before buffer callbacks and kinds. @return Whether CUPTI keeps a buffer per thread now.
bool set_attributes(CuptiState& state);

/// Only the first success of a wait that asks again and again leaves a record. With the kinds.
void limit_sync_records(CuptiState& state);

/// As they were before ours. Once our kinds are off.
void restore_attributes(CuptiState& state);

}  // namespace gpuprof::cupti
