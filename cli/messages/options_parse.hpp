// SPDX-License-Identifier: Apache-2.0
//
// Messages about the command line: commands, names of options, and options that belong together
// (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::options_parse {

// Commands
inline constexpr char kNoCommand[] = "no command given; `gpuprof help` lists the commands";
// {}: word, " (did you mean ...?)" or nothing
inline constexpr char kUnknownCommand[] =
    "there is no command {}{}; `gpuprof help` lists the commands, and `gpuprof run PROGRAM` starts "
    "a program";
inline constexpr char kUnknownFirstOption[] =
    "there is no option {}{}; the options of a command follow it: gpuprof run OPTION... PROGRAM";
inline constexpr char kOptionBeforeCommand[] =
    "options follow the command; write gpuprof run {} ... PROGRAM";
inline constexpr char kVersionTakesNoArguments[] =
    "{} takes no arguments, got {}; to start a program, use `gpuprof run`";

// Names and values of options. {}: command, option, " (did you mean ...?)" or nothing, command
inline constexpr char kUnknownOption[] =
    "{} has no option {}{}; `gpuprof help {}` lists its options";
// {}: option, value, option, value, long option, value
inline constexpr char kShortOptionWithEquals[] =
    "{}={}: a short option takes its value without '='; write {} {}";
inline constexpr char kShortOrLongOption[] =
    "{}={}: a short option takes its value without '='; write {} {} or {}={}";
inline constexpr char kNeedsValue[] = "{} needs a value: {} {}";
inline constexpr char kTakesNoValue[] = "{} takes no value";
inline constexpr char kCannotParse[] = "cannot parse the options: {}";

// Options that belong together
inline constexpr char kSameMeaning[] = "{} and {} mean the same; give only one of them";
inline constexpr char kStepsAndTime[] =
    "{} counts steps and {} is a time; give both in steps (10) or both as times (10s)";
inline constexpr char kCycleTooShort[] =
    "--wait, --warmup and --active add up to {}, less than 1 ms; make them longer, or give "
    "--repeat 1";
inline constexpr char kDurationIsOneWindow[] =
    "--duration (-d) records one window; use --active with --repeat for more";
inline constexpr char kEmptyWindow[] =
    "a window of length 0 records nothing; give --active or -d a length above 0";
inline constexpr char kRepeatNeedsActive[] = "--repeat needs --active, the length of a window";
inline constexpr char kStepsWithoutStep[] =
    "the schedule counts steps, but --step none defines none; give times (10s) or another --step";
inline constexpr char kStepNeedsOperators[] =
    "--step {} needs PyTorch's operators, which -t excludes; add torch to -t, or give another "
    "--step";
inline constexpr char kQuietAndVerbose[] = "-q cannot be combined with -v";

}  // namespace gpuprof::messages::options_parse
