// SPDX-License-Identifier: Apache-2.0
//
// Messages of the program gpuprof-serve: its help, its start, its end.
// docs/messages.md has the rules of their wording.
//
// Context:  serve
#pragma once

namespace gpuprof::messages::serve_program {

inline constexpr char kAbout[] =
    "Serves the Capture profile button. `gpuprof run --serve` and `gpuprof serve` start it.";
inline constexpr char kNotStartedByHand[] =
    "gpuprof-serve: gpuprof starts this program; use `gpuprof run --serve` or `gpuprof serve`\n";
inline constexpr char kNoGrpc[] =
    "cannot start the gRPC server; set GRPC_VERBOSITY=info to see why";
inline constexpr char kInternalError[] = "gpuprof-serve: internal error: %s\n";

// Options
inline constexpr char kOfProgram[] = "Serve the program that `gpuprof run` names later";
inline constexpr char kAll[] = "Serve every process of this user";
inline constexpr char kPid[] = "Serve the processes with these ids";
inline constexpr char kName[] = "Serve the processes with these names";
inline constexpr char kSources[] = "Sources that may be recorded, as bits";
inline constexpr char kVerbose[] = "Log to stderr";
inline constexpr char kCaptureWords[] = "Options for `gpuprof capture`";

// Log
inline constexpr char kSessionEnded[] = "the session has ended";

}  // namespace gpuprof::messages::serve_program
