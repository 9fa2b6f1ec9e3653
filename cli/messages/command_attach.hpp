// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof attach` (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::command_attach {

// Refusals. {}: process id, process id
inline constexpr char kProcessIsStopped[] = "process {} is stopped; resume it first: kill -CONT {}";

// Progress. {}: duration
inline constexpr char kInjected[] = "injected ({} pause)";

// Notes. {}: duration, or number of processes and duration
inline constexpr char kInjectedOne[] = "gpuprof stopped one thread for {} to inject its library";
inline constexpr char kActivatedOne[] = "gpuprof stopped one thread for {} to activate its library";
inline constexpr char kInjectedMany[] =
    "gpuprof stopped one thread of each of {} processes, for {} at most, to inject its library";
inline constexpr char kActivatedMany[] =
    "gpuprof stopped one thread of each of {} processes, for {} at most, to activate its library";
// {}: number of processes
inline constexpr char kChildrenEnded[] = "{} that --children found ended before gpuprof attached";

}  // namespace gpuprof::messages::command_attach
