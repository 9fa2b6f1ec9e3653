// SPDX-License-Identifier: Apache-2.0
//
// Notices about NVTX (docs/messages.md has the rules of their wording). printf formats.
//
// Context:  any
#pragma once

namespace gpuprof::messages::nvtx {

// %s: modules
inline constexpr char kRecordedLate[] =
    "NVTX ranges of %s are recorded from now on; domains and strings that were registered before "
    "gpuprof attached are unknown";
// %s: modules, reason
inline constexpr char kNotRecorded[] = "NVTX ranges of %s are not recorded: %s";
inline constexpr char kUnknownLayout[] = "the layout of this copy of NVTX is not known";
inline constexpr char kOtherTool[] = "another tool receives them";
inline constexpr char kProgram[] = "the program";

}  // namespace gpuprof::messages::nvtx
