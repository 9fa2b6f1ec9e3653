// SPDX-License-Identifier: Apache-2.0
//
// Messages about gpuprof's own files.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::target_installation {

inline constexpr char kNoProc[] =
    "cannot read /proc/self/exe, so gpuprof cannot find its own files; mount /proc: mount -t proc "
    "proc /proc";

// {}: path
inline constexpr char kDaemonIsFolder[] =
    "--daemon {} is a folder; name the program gpuprofd or the socket of a running daemon";
inline constexpr char kNoDaemon[] =
    "the daemon {} is missing or not executable; reinstall gpuprof or name the daemon with "
    "--daemon";
inline constexpr char kNoLibrary[] =
    "the gpuprof library {} is missing or in a folder that this user cannot open; reinstall "
    "gpuprof";

// {}: path, reason
inline constexpr char kNoFolder[] =
    "cannot create the folder {}: {}; set TMPDIR to a writable folder";
inline constexpr char kNoLink[] = "cannot create the link {}: {}";

}  // namespace gpuprof::messages::target_installation
