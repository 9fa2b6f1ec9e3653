// SPDX-License-Identifier: Apache-2.0
//
// Messages about the place of the output, and of progress.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::session_output {

// Patterns of -o. {}: the pattern; letter, variable, sizes
inline constexpr char kVariableBraces[] =
    "-o {}: %q needs the name of a variable in braces, such as %q{{USER}}";
inline constexpr char kLonePercent[] =
    "-o {} ends in a lone percent sign; write %% for a percent sign";
inline constexpr char kUnknownPlaceholder[] =
    "-o {}: unknown placeholder %{}; expected %h, %p, %n, %r, %q{{ENV}} or %%";
inline constexpr char kVariableNotSet[] =
    "-o {0}: the variable {1} is not set; set it or remove %q{{{1}}}";
inline constexpr char kVariableEmpty[] =
    "-o {0}: the variable {1} is empty; give it a value or remove %q{{{1}}}";
inline constexpr char kNoRank[] =
    "-o {}: %r in a folder name needs a rank from a launcher (RANK is not set); use %r in the "
    "file name";
inline constexpr char kEndsInSlash[] = "-o {}: the pattern ends in /; add a file name";
inline constexpr char kNameTooLong[] =
    "-o {}: the file name is too long: {} bytes, at most {} are possible";
inline constexpr char kOnlyInFileName[] =
    "-o {}: %p and %n are for the file name, not for its folder";

// The place
inline constexpr char kFolderGone[] =
    "the current folder no longer exists; choose an output folder with -o /PATH";
inline constexpr char kIsFolder[] = "-o {} is a folder; choose another file name";
inline constexpr char kFileExists[] =
    "{} already exists; overwrite it with -f or choose another name";

// Progress. {}: megabytes; events, ", each several times" or nothing
inline constexpr char kReading[] = "reading {} of {} MB";
inline constexpr char kCounting[] = "counting, {} events read{}";

// {}: what, reason, what to do
inline constexpr char kCannotWriteStdout[] = "cannot write {} to stdout: {}{}";

}  // namespace gpuprof::messages::session_output
