// SPDX-License-Identifier: Apache-2.0
//
// Messages of the names and the writing of output files (docs/messages.md has the rules of their
// wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::export_files {

// Output patterns. {}: pattern
inline constexpr char kPatternWithoutVariable[] =
    "output pattern {}: %q has no name in braces; expected %q{{NAME}}";
// {}: pattern, letter
inline constexpr char kUnknownPlaceholder[] =
    "output pattern {}: unknown placeholder %{}; expected %h, %p, %n, %r, %q{{NAME}} or %%";
// {}: path
inline constexpr char kTwoFilesOfOneName[] =
    "two files would have the name {}; add %p to the output pattern";

// What is written. {}: process id, folder
inline constexpr char kNoSpool[] = "process {} has no spool in {}";
// {}: name of the format
inline constexpr char kUnknownFormat[] = "this version of gpuprof cannot write the format {}";

// Writing. {}: path
inline constexpr char kFileExists[] =
    "cannot write {}: the file exists; "
    "use `gpuprof export` with -o for another name or -f to overwrite it";
// {}: path, reason
inline constexpr char kCannotCreate[] = "cannot create {}: {}";
inline constexpr char kCannotRename[] = "cannot rename the temporary file to {}: {}";
inline constexpr char kCannotWrite[] = "cannot write {}: {}";
// {}: path, reason, a hint with its separator or nothing
inline constexpr char kCannotWriteHint[] = "cannot write {}: {}{}";
inline constexpr char kOutOfMemory[] = "out of memory";

// What runs out of memory, behind "to"
inline constexpr char kWriteTrace[] = "write the trace";

}  // namespace gpuprof::messages::export_files
