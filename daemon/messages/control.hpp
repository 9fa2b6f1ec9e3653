// SPDX-License-Identifier: Apache-2.0
//
// Messages about requests at control sockets (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::control {

// A request failed. {}: process id, then one of the reasons below
inline constexpr char kDoesNotRespond[] = "process {} does not respond: {}";
inline constexpr char kNotListening[] = "process {} does not respond on its control socket: {}";
inline constexpr char kNotListeningError[] = "process {} does not respond on its control socket {}";
inline constexpr char kClosed[] = "process {} closed its control socket: {}";
inline constexpr char kClosedError[] = "process {} closed its control socket {}";
// {}: process id, the process's own message
inline constexpr char kRefused[] = "process {}: {}";
// {}: process id
inline constexpr char kClosedUnanswered[] =
    "process {} closed its control socket without a response";
inline constexpr char kOtherVersion[] = "process {} has the gpuprof library of another version";
inline constexpr char kInvalidResponse[] = "process {} sent an invalid response";

// Reasons, of "process {} does not ...: it ...". {}: system error
inline constexpr char kError[] = "({})";
inline constexpr char kErrorOfStarved[] =
    "({}): its worker thread cannot run, for example while Python 3.12 or later forks "
    "continuously; try again";
inline constexpr char kStarved[] =
    "its worker thread cannot run, for example on a busy machine or under a debugger; try again";
// {}: process id
inline constexpr char kStopped[] = "it is stopped; resume it first: kill -CONT {}";
inline constexpr char kEnded[] = "it has ended";
inline constexpr char kStartedAnotherProgram[] =
    "it has started another program (exec), which does not contain the gpuprof library; attach "
    "again";

}  // namespace gpuprof::messages::control
