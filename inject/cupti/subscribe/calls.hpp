// SPDX-License-Identifier: Apache-2.0
//
// Records of API calls: two ways to switch them on, of which CUPTI may take either and deliver
// nothing.
//
// Context:  worker | boundary, under the room's lock
// Owns:     nothing
// Promises: what is on is held against the launches that callbacks see; a way that delivers nothing
//           is left for the other one
// Not here: which functions are of interest (callbacks/cbids.hpp); what stays missing is told by
// the
//           daemon, which sees what arrives
#pragma once

#include "inject/cupti/subscribe/room.hpp"

namespace gpuprof::cupti {

/// Switches them as the settings say: on, off, or on and dropped where a kind once on stays on.
void follow_calls(Room& room);
void calls_off(Room& room);

/// Goes the other way where nothing comes of launches that were made half a second ago, although
/// CUPTI delivers. Each turn.
void watch_calls(Room& room, std::uint64_t now_ns);

}  // namespace gpuprof::cupti
