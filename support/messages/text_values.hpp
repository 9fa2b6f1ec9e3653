// SPDX-License-Identifier: Apache-2.0
//
// Messages about durations, sizes, numbers and JSON that cannot be parsed (docs/messages.md has the
// rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::text_values {

// What is expected
inline constexpr char kDuration[] = "a time such as 250us, 5ms, 1.5s or 2m";
inline constexpr char kStepsOrDuration[] = "a number of steps or a time such as 5ms, 1.5s or 2m";
inline constexpr char kSize[] = "a size such as 512MiB or 4GiB";
inline constexpr char kNumber[] = "a number such as 200000, 200k or 1M";

// {}: one of the above; word or unit in quotes
inline constexpr char kExpected[] = "expected {}, got {}";
inline constexpr char kNoUnit[] = "{} has no unit; expected {}";
inline constexpr char kUnknownUnit[] = "{} in {} is not a unit; expected {}";
inline constexpr char kTooLarge[] = "{} is too large";
inline constexpr char kNotWhole[] = "{} is not a whole number";
inline constexpr char kNotWholeSteps[] =
    "{} is not a whole number of steps; a time needs a unit, such as 5ms or 2s";

// {}: byte, reason
inline constexpr char kNotJson[] = "not JSON at byte {}: {}";

// Behind a word. {}: another word
inline constexpr char kDidYouMean[] = " (did you mean {}?)";

}  // namespace gpuprof::messages::text_values
