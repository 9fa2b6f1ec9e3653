// SPDX-License-Identifier: Apache-2.0
//
// Messages around each piece of advice (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::advice {

inline constexpr char kNoAdvice[] = "No advice: no rule found anything to change.";
inline constexpr char kByShareOfStep[] = "Advice, by share of a step";
inline constexpr char kByShareOfRecording[] = "Advice, by share of the recording";
inline constexpr char kTry[] = "Try: ";

// The process. {}: number of processes, rank or process id
inline constexpr char kRank[] = "  rank {}";
inline constexpr char kProcess[] = "  process {}";
inline constexpr char kWorstRank[] = "  in {} processes; worst: rank {}";
inline constexpr char kWorstProcess[] = "  in {} processes; worst: process {}";

// Behind a time or size: with and without steps
inline constexpr char kPerStep[] = "per step";
inline constexpr char kInTotal[] = "in total";

}  // namespace gpuprof::messages::advice
