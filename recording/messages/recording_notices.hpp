// SPDX-License-Identifier: Apache-2.0
//
// Messages about notices that were not kept (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::recording_notices {

// {}: number, process id, how many are kept
inline constexpr char kOneDropped[] =
    "1 earlier notice about process {} was dropped: only the last {} are kept";
inline constexpr char kManyDropped[] =
    "{} earlier notices about process {} were dropped: only the last {} are kept";

}  // namespace gpuprof::messages::recording_notices
