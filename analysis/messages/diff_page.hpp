// SPDX-License-Identifier: Apache-2.0
//
// Messages of the page of `gpuprof diff --html` (docs/messages.md has the rules of their wording).
// Those of its scripts: report/page/web/texts.js.
//
// Context:  any
#pragma once

namespace gpuprof::messages::diff_page {

// Notes of tables
inline constexpr char kFiguresPerStep[] =
    "Medians per step. Spread: from step to step. Noise limit: smaller changes are not "
    "significant. Adjusted: the change without the common factor.";
inline constexpr char kFiguresPerCall[] =
    "Medians per call. Spread: from slice to slice. Noise limit: smaller changes are not "
    "significant. Adjusted: the change without the common factor.";
inline constexpr char kMemory[] =
    "Values of the whole recording. A peak is significant if it differs by at least 1 MiB and "
    "--min-change, and the peaks of the usual step do, too.";

// What cannot be compared. {}: operators, or kernels and copies
inline constexpr char kTooFewLargeOnHost[] =
    "Too few {} are large enough to show the effect of the machine: a change must be twice as "
    "large to be significant.";
inline constexpr char kTooFewLargeOnGpu[] =
    "Too few {} are large enough to show the effect of the machine: each is compared as measured.";
// {}: names
inline constexpr char kGoneOne[] = "1 name occurs only before and is listed as gone.";
inline constexpr char kGoneMany[] = "{} names occur only before and are listed as gone.";
inline constexpr char kNewOne[] = "1 name occurs only after and is listed as new.";
inline constexpr char kNewMany[] = "{} names occur only after and are listed as new.";

// What is not in the page. {}: number; kNamesLeftOut: also what they are
inline constexpr char kNamesLeftOut[] =
    "{} of the {}: those with the least time. gpuprof diff --json lists all of them.";
inline constexpr char kSignificantLeftOut[] = "Only in the tables: {} of the significant changes.";
inline constexpr char kUnconfirmedLeftOut[] = "Only in the tables: {} of the unconfirmed changes.";

// Titles of groups of sentences
inline constexpr char kNotCompared[] = "Not compared, or compared with less certainty";
inline constexpr char kMissingBefore[] = "Missing from the recording before";
inline constexpr char kMissingAfter[] = "Missing from the recording after";
inline constexpr char kNotInPage[] = "Not in this page";

}  // namespace gpuprof::messages::diff_page
