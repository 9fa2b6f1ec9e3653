// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof diff --fail-if CONDITION` (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::diff_condition {

// {}: condition in quotes, why it cannot be parsed: one of the following
inline constexpr char kRefused[] = "--fail-if {}: {}";
inline constexpr char kNoComparison[] =
    "expected a comparison with >, >=, < or <=, for example 'step_time > +5%'";
// {}: value in quotes, examples
inline constexpr char kNotANumber[] = "{} is not a number; expected for example {}";
inline constexpr char kNoUnit[] = "{} has no unit; expected for example {}";
// {}: value in quotes, metric, examples
inline constexpr char kOtherUnit[] = "the unit of {} does not fit {}; expected for example {}";
inline constexpr char kTimeExamples[] = "+5%, +2ms or 20ms";
inline constexpr char kBytesExamples[] = "+5%, +100MiB or 8GiB";
inline constexpr char kCountExamples[] = "+5%, +10 or 100";
// {}: metric in quotes, the nearest one, all metrics
inline constexpr char kUnknownMetric[] = "unknown metric {}; the metrics are {}";
inline constexpr char kUnknownMetricNear[] =
    "unknown metric {} (did you mean {}?); the metrics are {}";
// {}: metric
inline constexpr char kNeedsName[] = "{} needs a name; write {}:NAME";
inline constexpr char kTakesNoName[] = "{} takes no name";
inline constexpr char kChangesAreCounted[] =
    "changes is a count; expected for example 'changes > 0'";

// Conditions that cannot be evaluated. {}: condition in quotes
inline constexpr char kUnknownName[] = "--fail-if {}: neither recording has that name";
inline constexpr char kUnknownNameNear[] =
    "--fail-if {}: neither recording has that name; did you mean {}?";
// {}: also number of names, part of a name, two of them in quotes
inline constexpr char kAmbiguousName[] =
    "--fail-if {}: {} names contain {}, for example {} and {}; give one of them in full";
inline constexpr char kNoMemory[] =
    "--fail-if {}: no memory was recorded; record both with --profile-memory";
inline constexpr char kNoStepTime[] = "--fail-if {}: step_time needs steps in both recordings";
// {}: also the metric
inline constexpr char kNoMetric[] =
    "--fail-if {}: the recordings have no {}: they contain no GPU work of that kind";
// {}: also notes of the comparison
inline constexpr char kCannotEvaluate[] = "--fail-if {} cannot be evaluated: {}";

// A condition that holds. {}: condition in quotes, in which pairs, for which process, values,
// common factor; all but the first and the values may be empty
inline constexpr char kHolds[] = "--fail-if {} holds{}{}: {}{}";
inline constexpr char kInAllPairs[] = " in all {} pairs";
inline constexpr char kForProcess[] = " for {}";
inline constexpr char kValues[] = "{} before, {} after ({})";
inline constexpr char kCommonFactor[] = "; all operators together took {:.2f} times as long";

}  // namespace gpuprof::messages::diff_condition
