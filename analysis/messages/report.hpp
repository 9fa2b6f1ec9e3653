// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof report`: refusals, tables and missing data (docs/messages.md has the rules
// of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::report {

// Refusals
inline constexpr char kJsonAndCsv[] = "--json cannot be combined with --csv";
inline constexpr char kMixedGpus[] =
    "some of these processes ran on a simulated GPU and some on a real one; report them separately";
inline constexpr char kNoEvents[] = "the recording contains no events";
inline constexpr char kGroupingWithTable[] =
    "--group-by-input-shape and --group-by-stack group operators; use them without --by";

// {}: rank, ranks that there are
inline constexpr char kNoRank[] = "no process has rank {}; recorded ranks: {}";
inline constexpr char kRanksUnknown[] = "no process has rank {}: no process reported its rank";

// {}: first and last step
inline constexpr char kNoStep[] =
    "no step from {} to {} was recorded; list the recorded steps with --by step";

// {}: word, " (did you mean …?)" or nothing, what there is
inline constexpr char kNoTable[] = "--by: there is no table {}{}; tables are {}";
inline constexpr char kNoSortKey[] = "cannot sort operators by {}{}; keys are {}";
// {}: table, and the same
inline constexpr char kNoColumn[] = "the table of --by {} has no column {}{}; its columns are {}";

// Below a table. {}: number of rows
inline constexpr char kOneMoreRow[] = "(1 more row; --row-limit N shows more)";
inline constexpr char kMoreRows[] = "({} more rows; --row-limit N shows more)";

// Missing data. {}: number of events
inline constexpr char kEventsNotInReport[] =
    "{} events are not in the report: a window has more events than the report reads";
// Behind missing data that only some windows have. {}: these, all
inline constexpr char kInSomeWindows[] = " ({} of {} windows)";

}  // namespace gpuprof::messages::report
