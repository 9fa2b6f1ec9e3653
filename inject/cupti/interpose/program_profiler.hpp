// SPDX-License-Identifier: Apache-2.0
//
// Yields CUPTI when the program itself uses it (torch.profiler, JAX, …), and takes it back
// afterwards.
//
// Context:  boundary (application threads, inside a call of theirs)
// Owns:     nothing: the state is ProgramProfiler in CuptiState
// Promises: our kinds are off and our slot is free before the program's call reaches CUPTI; the
//           program's calls and results are passed on unchanged; waiting is bounded
// Not here: taking it back (cupti_state.cpp, tick)
#pragma once

#include <cstdint>

#include "inject/cupti/library/api.hpp"

namespace gpuprof::cupti {

/// Which call the program took the slot with. With the later one it may share it with others that
/// make later calls, and loses it when anybody makes one of the earlier calls, as we would to
/// record without the slot.
enum class SubscribeVersion : std::uint8_t { kNone, kV1, kV2 };

/// What the program is about to do.
enum class ProgramCall : std::uint8_t { kSubscribe, kActivity };

/// Before a call of the program: yields CUPTI if we have to.
void yield_cupti(ProgramCall call);

/// After the call, with its result.
void on_program_subscribed(bool worked, SubscribeVersion by);
void on_program_unsubscribed(bool worked);
void on_program_registered();
void on_program_enabled(std::uint32_t kind, bool worked);
void on_program_disabled(std::uint32_t kind);
void on_program_flushed();
void on_program_set_thread_ids();
void on_program_finalized();

/// What the program has in CUPTI according to the calls that went through us, whether we were awake
/// or not: the slot, and kinds (bit = CUpti_ActivityKind). Any thread.
SubscribeVersion program_subscribe_version();
std::uint64_t program_kinds();
/// Whether it has chosen how records identify threads: then that is not restored.
bool program_chose_thread_ids();
/// Its calls no longer go through us.
void reset_program_state();

/// Puts the program's buffer callbacks in the place of ours, if it has any and nothing of ours is
/// on. Under the component's lock.
struct CuptiState;
void restore_program_callbacks(CuptiState& state);

/// Updates whether it is idle, and since when, after `other` changed. Under the component's lock.
struct ProgramProfiler;
void update_idle_since(ProgramProfiler& other);

}  // namespace gpuprof::cupti
