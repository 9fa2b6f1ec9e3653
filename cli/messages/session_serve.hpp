// SPDX-License-Identifier: Apache-2.0
//
// Messages about gpuprof-serve, which a command starts beside it.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::session_serve {

// {}: option, address or path
inline constexpr char kOpenToNetwork[] =
    "{} {}: other machines reach this address and could record the program without a password; "
    "listen at 127.0.0.1 (`ssh -L` forwards it) or confirm with --serve-to-network";
inline constexpr char kNoHelper[] =
    "{}: the program {} is missing or not executable; reinstall gpuprof, or run scripts/build in "
    "its source folder";
inline constexpr char kCannotStart[] = "{}: {}";
inline constexpr char kCannotServe[] = "{} {}: {}";
inline constexpr char kNoResponse[] = "{} does not respond";
inline constexpr char kEndedSilently[] =
    "{} ended without a message; check `{} --version` (the gRPC packages, libgrpc++, may be "
    "missing)";

// {}: signal or exit status, address
inline constexpr char kKilled[] =
    "{} killed gpuprof-serve, so the Capture profile button at {} stopped working. The program was "
    "not affected";
inline constexpr char kEnded[] =
    "gpuprof-serve exited with status {}, so the Capture profile button at {} stopped working. The "
    "program was not affected";

}  // namespace gpuprof::messages::session_serve
