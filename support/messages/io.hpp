// SPDX-License-Identifier: Apache-2.0
//
// Messages about files, folders, addresses to listen at, logs and progress (docs/messages.md has
// the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::io {

// Output folders. {}: folder in quotes, reason
inline constexpr char kCannotCreateOutputFolder[] =
    "cannot create the output folder {}: {}; choose another with -o";
inline constexpr char kCannotWriteOutputFolder[] =
    "cannot write to the output folder {}: {}; choose another with -o";
inline constexpr char kFileHasThatName[] = "a file has that name";

// What must not be replaced by a file. {}: path in quotes, what it is
inline constexpr char kDanglingLink[] =
    "{} is a dangling symbolic link and is never replaced; name a regular file";
inline constexpr char kNotReplaceable[] = "{} is {} and is never replaced; name a regular file";
inline constexpr char kDevice[] = "a device";
inline constexpr char kPipe[] = "a pipe";
inline constexpr char kSocket[] = "a socket";
inline constexpr char kNotRegularFile[] = "not a regular file";

// Addresses to listen at. {}: option, word in quotes, ...
inline constexpr char kExpectedAddress[] = "{}: expected HOST:PORT, [IPv6]:PORT or PORT, got {}";
inline constexpr char kNotAPort[] = "{} {}: {} is not a port; expected a number from 1 to 65535";
inline constexpr char kCannotResolve[] =
    "{} {}: cannot resolve {}: {}; expected HOST:PORT, [IPv6]:PORT or PORT";

// Why a socket cannot listen. {}: option, address, reason
inline constexpr char kCannotListen[] = "{} {}: cannot listen: {}";
inline constexpr char kPortInUse[] = "another program uses this port; choose another";
inline constexpr char kPortOfRoot[] = "only root can open this port; choose one above 1023";
inline constexpr char kNotOurAddress[] =
    "this machine does not have this address; list its addresses: ip address";
inline constexpr char kNoIpv6[] = "this machine has no IPv6; use an IPv4 address";

// Log and progress. {}: path in quotes, reason; {}: stage; {}: stage, percent
inline constexpr char kCannotWriteLog[] = "cannot write the log file {}: {}";
inline constexpr char kStillWorking[] = "gpuprof: still {}\n";
inline constexpr char kPercentDone[] = "{}, {} % done";

}  // namespace gpuprof::messages::io
