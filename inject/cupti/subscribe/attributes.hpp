// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's process-wide switches: set as we need them, and restored to what they were.
//
// Context:  worker | boundary, under the component's lock
// Owns:     nothing: the state is SavedAttributes in CuptiState
// Promises: none of ours is left when the program's own profiler continues, or when we detach; what
//           the program has set meanwhile stays
// Not here: kinds and callbacks (activity_kinds.hpp)
#pragma once

namespace gpuprof::cupti {

struct CuptiState;

/// Before buffer callbacks and kinds. @return Whether CUPTI keeps a buffer per thread now.
bool set_attributes(CuptiState& state);

/// Of a wait that polls again and again, only the first success leaves a record. Set with the
/// kinds.
void limit_sync_records(CuptiState& state);

/// Restores them to what they were before ours. Once our kinds are off.
void restore_attributes(CuptiState& state);

}  // namespace gpuprof::cupti
