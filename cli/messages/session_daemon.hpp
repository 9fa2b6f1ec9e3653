// SPDX-License-Identifier: Apache-2.0
//
// Messages about the daemon of a session: its start, its silence, its end.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::session_daemon {

// Starting and connecting. {}: reason; address
inline constexpr char kNoSocket[] = "cannot create a socket: {}";
inline constexpr char kCannotStart[] = "cannot start the daemon: {}";
inline constexpr char kAddressLength[] = "--daemon {}: expected an address of 2 to 107 characters";
inline constexpr char kCannotConnect[] =
    "--daemon {}: cannot connect: {}; start a daemon with `gpuprofd --listen PATH` or omit "
    "--daemon";
inline constexpr char kOfAnotherUser[] =
    "--daemon {}: cannot connect: {}. A daemon serves its own user only; start one with "
    "`gpuprofd --listen PATH`";
inline constexpr char kNoReply[] =
    "{} ended without a response: it is not gpuprofd or cannot run here; check `{} --version` or "
    "choose another with --daemon";

// Progress
inline constexpr char kWritingStarts[] = "writing the trace ...";
inline constexpr char kRecovering[] = "recovering";

// What became of it. {}: process id, folder; or why it is gone
inline constexpr char kTerminated[] =
    "the daemon received SIGTERM, SIGINT or SIGHUP while the program ran. The trace ends there";
inline constexpr char kInterrupted[] =
    "interrupted; the daemon (process {}) continues writing to {}";
inline constexpr char kStopped[] =
    "the daemon (process {0}) is stopped and cannot write the trace; resume it with `kill -CONT "
    "{0}` or end it with `kill -KILL {0}`";
inline constexpr char kHangs[] =
    "the daemon (process {0}) hangs: no message and no CPU time for 10 s; end it with `kill -KILL "
    "{0}`";
inline constexpr char kNothingLeft[] = "{}. There is nothing to recover";
inline constexpr char kRecovered[] =
    "{}. gpuprof recovered the files from {}, which can be deleted";
inline constexpr char kRecoveryFailed[] = "{}. Recovery failed: {}";

// Log
inline constexpr char kSessionOpen[] = "session {:x} of daemon {} is open";
inline constexpr char kSessionEnded[] = "the daemon has ended the session";

}  // namespace gpuprof::messages::session_daemon
