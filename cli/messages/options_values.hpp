// SPDX-License-Identifier: Apache-2.0
//
// Messages about values of options (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::options_values {

// {}: option, what is expected, value
inline constexpr char kExpected[] = "{}: expected {}, got {}";
inline constexpr char kExpectedOneOf[] = "{}: expected one of {}, got {}";

// What kExpected names
inline constexpr char kWindowCount[] = "at most 1000000 windows (0: until the end)";
inline constexpr char kTimeAboveZero[] = "a time longer than 0";
inline constexpr char kSampleRate[] = "at most 1000 samples per second (0: none)";
inline constexpr char kEventCount[] = "at least 1000 events";
inline constexpr char kRecordedSize[] = "a size of at least 1MiB";
inline constexpr char kBufferSize[] = "a size from 1MiB to 64MiB";
inline constexpr char kProcessId[] = "a process id";

// {}: option, value, and the value again for seconds, then as the option of the long form
inline constexpr char kTimeNeedsUnit[] =
    "{}: expected a time with a unit, got {}; write {}s for seconds or {} {} for steps";
inline constexpr char kTooLarge[] = "{}: {} is too large";
inline constexpr char kPercentage[] = "{}: expected a percentage from 0 to 1000 such as 5%, got {}";

// Of one option. {}: value
inline constexpr char kKeep[] = "--keep: expected all, first:N or last:N with N above 0, got {}";
inline constexpr char kSource[] =
    "--trace: expected a list of cuda, nvtx, torch, python, native, got {}";
inline constexpr char kStepRange[] = "--step: expected N or A-B, got {}";
inline constexpr char kStepRangeReversed[] =
    "--step: {} ends before it begins; write the smaller number first";
// {}: value, " (did you mean ...?)" or nothing, formats
inline constexpr char kFormat[] = "--format: there is no format {}{}; gpuprof writes {}";
// {}: most characters, value
inline constexpr char kName[] =
    "--name: expected 1 to {} letters, digits or . _ -, and not only digits (a process id), got {}";

// Empty values
inline constexpr char kEmptyOutput[] = "-o: expected a folder or a pattern, got an empty value";
inline constexpr char kEmptyDaemon[] =
    "--daemon: expected the path of gpuprofd or a socket, got an empty value";
inline constexpr char kEmptySummary[] = "--summary-json: expected a file name, got an empty value";
inline constexpr char kEmptyPage[] = "--html: expected a file name, got an empty value";
inline constexpr char kEmptyColumns[] =
    "--columns: expected column names separated by commas, got none";
inline constexpr char kEmptyRules[] =
    "--fail-on: expected `any` or rule names separated by commas, got none";

}  // namespace gpuprof::messages::options_values
