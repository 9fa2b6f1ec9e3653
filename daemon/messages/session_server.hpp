// SPDX-License-Identifier: Apache-2.0
//
// Messages of gpuprofd itself: its options, its socket, peers that it refuses (docs/messages.md has
// the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::session_server {

// Help of gpuprofd
inline constexpr char kDescription[] =
    "Collects what the gpuprof library records in a program, and writes the traces.";
inline constexpr char kListenHelp[] =
    "Listen at this socket (a path or @NAME) until SIGTERM; `gpuprof run --daemon SOCKET` connects "
    "to it";
inline constexpr char kControlFdHelp[] =
    "Serve the one client at the other end of this file descriptor, then exit";
inline constexpr char kLogHelp[] = "Write a log to this file, or to stderr (-)";

// Its start
inline constexpr char kNoSocket[] =
    "no socket to listen at; give --listen SOCKET (a path or @NAME), or use `gpuprof run`, which "
    "starts its own daemon";
inline constexpr char kCannotWriteLog[] = "cannot write the log: {}";

// Listening. {}: address, reason, system call
inline constexpr char kCannotListen[] = "cannot listen at {}: {} ({})";
inline constexpr char kAddressLength[] =
    "cannot listen at \"{}\": a socket address has 1 to 107 characters";
inline constexpr char kAddressInUse[] =
    "cannot listen at {}: another daemon listens there, or a file of that name exists";

// Refusals
inline constexpr char kOtherUser[] = "the daemon accepts only processes of its own user";
inline constexpr char kNoDescriptorLeft[] =
    "the daemon has no file descriptor left; raise the limit of open files (ulimit -n)";
inline constexpr char kNotAMessage[] = "the packet is not a gpuprof message";
inline constexpr char kVersionsDiffer[] =
    "the gpuprof library and the daemon have different versions";
inline constexpr char kWireVersionsDiffer[] =
    "the gpuprof library and the daemon have different versions ({} and {})";
inline constexpr char kWrongFirstMessage[] = "the first message is neither Hello nor OpenSession";
inline constexpr char kHelloTooShort[] = "the Hello message is too short";
inline constexpr char kNoSuchSession[] = "the session does not exist or has ended";
inline constexpr char kSessionNotOpened[] = "the daemon refused to open a session for this request";

}  // namespace gpuprof::messages::session_server
