// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof run` (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::command_run {

// Refusals
inline constexpr char kNoProgram[] =
    "run needs a program; usage: gpuprof run [OPTION...] [--] PROGRAM [ARGUMENT...]";
// {}: why the script cannot be run, script
inline constexpr char kScriptWithoutInterpreter[] =
    "{}; start a Python script with its interpreter: gpuprof run -- python3 {}";
// {}: option
inline constexpr char kServeWritesNoFile[] =
    "--serve without a schedule writes no file; omit {}, or add a schedule (--active, -d)";
inline constexpr char kArmedRecordsNothing[] =
    "--armed records nothing until `gpuprof capture`; give {} to that command";
inline constexpr char kTheSchedule[] = "the schedule";

// Missing. {}: program, reason
inline constexpr char kRanUnprofiled[] = "{} ran unprofiled: {}";
inline constexpr char kRanUnprofiledButChildren[] =
    "{} ran unprofiled: {}. Programs that it starts can be recorded";

// Notes. {}: path
inline constexpr char kOutputIsFolder[] =
    "{} is a folder that contains the traces; to name a file, let -o end in .pt.trace.json or "
    ".pt.trace.json.gz";
inline constexpr char kPreloadFolderStays[] =
    "gpuprof keeps {}: programs that are still running were started through it";

// With --verbose
inline constexpr char kProgramStarted[] = "process {} runs {}";
inline constexpr char kProgramEnded[] = "the program ended with status {}";

}  // namespace gpuprof::messages::command_run
