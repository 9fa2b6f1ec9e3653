// SPDX-License-Identifier: Apache-2.0
//
// Messages of the wall-time breakdown of `gpuprof report` (docs/messages.md has the rules of their
// wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::wall_time {

inline constexpr char kHeading[] = "Wall time (all: --by wall; by line: --by stretch)";

// How many steps and pauses a row has
inline constexpr char kOneStep[] = "1 step";
inline constexpr char kSteps[] = "{} steps";
inline constexpr char kOnePause[] = "1 pause";
inline constexpr char kPauses[] = "{} pauses";

// Behind what took long. {}: number of steps, their labels
inline constexpr char kLongerInOneStep[] = ", longer than usual in 1 step ({})";
inline constexpr char kLongerInSteps[] = ", longer than usual in {} steps ({})";
// {}: how often, after which steps
inline constexpr char kHowOften[] = ", {} ({})";

inline constexpr char kOnce[] = "once";
inline constexpr char kTimes[] = "{} times";
// {}: labels of steps
inline constexpr char kAfterStep[] = "after step {}";
inline constexpr char kAfterSteps[] = "after steps {}";
// Behind a list. {}: how many it leaves out
inline constexpr char kMore[] = " and {} more";

}  // namespace gpuprof::messages::wall_time
