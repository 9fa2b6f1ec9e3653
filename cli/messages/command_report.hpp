// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof report`, `diff` and `export` (docs/messages.md has the rules of their
// wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::command_report {

// Refusals
inline constexpr char kReportNeedsInput[] =
    "report needs a trace file or a folder; usage: gpuprof report [OPTION...] INPUT...";
inline constexpr char kExportNeedsInput[] =
    "export needs trace files or a spool folder; usage: gpuprof export [OPTION...] TRACE...|SPOOL";
inline constexpr char kPageIsNoData[] = "--html cannot be combined with --json or --csv";
inline constexpr char kPageIsNoJson[] = "--html cannot be combined with --json";
inline constexpr char kPageHasAllTables[] =
    "--html writes all tables; omit --by, --sort-by, --columns, --group-by-* and --row-limit";
inline constexpr char kPageHasAllRows[] = "--html writes all rows; omit --row-limit";
inline constexpr char kPageWithAdvice[] =
    "--html cannot be combined with --advice-only or --fail-on; run `gpuprof report` again for "
    "them";

// On stderr. {}: path, size; rules
inline constexpr char kWrotePage[] = "wrote {} ({}); open it in a browser";
inline constexpr char kAdviceOfRules[] = "--fail-on: there is advice from {}";

// Progress, behind a number of events
inline constexpr char kEachSeveralTimes[] = ", each several times";

}  // namespace gpuprof::messages::command_report
