// SPDX-License-Identifier: Apache-2.0
//
// Notices about the Python interpreter (docs/messages.md has the rules of their wording). printf
// formats.
//
// Context:  any
#pragma once

namespace gpuprof::messages::python {

// %s: version, reason
inline constexpr char kFramesMissing[] =
    "Python frames are missing, but native stacks are complete: Python %s cannot be read (%s)";
inline constexpr char kUnsupportedVersion[] = "only 3.8 to 3.14 are supported";
inline constexpr char kUnknownLayout[] = "its layout is not known";
inline constexpr char kFreeThreaded[] = "free-threaded builds are not supported yet";
inline constexpr char kNoOffsets[] = "its interpreter offsets are missing";
inline constexpr char kOtherOffsets[] = "its interpreter offsets are of another version";
inline constexpr char kInvalidOffsets[] = "its interpreter offsets are implausible";

inline constexpr char kOffsetsDiffer[] =
    "the interpreter's own offsets differ from gpuprof's built-in ones; gpuprof uses the "
    "interpreter's";
inline constexpr char kExecutable[] = "the executable";

}  // namespace gpuprof::messages::python
