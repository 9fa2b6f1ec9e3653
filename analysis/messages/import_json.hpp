// SPDX-License-Identifier: Apache-2.0
//
// Messages about the JSON text of a trace: what it is in place of a trace, and where it is damaged
// (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::import_json {

// What a file is in place of a trace, behind its path
inline constexpr char kNotJson[] = "is not a trace: it does not begin with a JSON object or array";
inline constexpr char kNoEventList[] = "is JSON but not a trace: it has no traceEvents";
inline constexpr char kEventsNotAList[] = "is not a trace: its traceEvents is not a list";
inline constexpr char kListOfOther[] =
    "is JSON but not a trace: it is a list of something other than events";

// No valid trace. {}: path, then number and byte
inline constexpr char kTwoEventLists[] = "{} is not a valid trace: it has two lists of events";
inline constexpr char kEventTooLong[] =
    "{} is not a valid trace: it has an event of more than {} MiB at byte {}";
inline constexpr char kMemberTooLong[] =
    "{} is not a valid trace: it has a member of more than {} MiB at byte {}";
inline constexpr char kTooDeep[] =
    "{} is not a valid trace: it is nested more than {} levels deep at byte {}";
inline constexpr char kTruncated[] =
    "{} ends in the middle of its JSON text, after {} bytes: it is truncated or still being "
    "written";
inline constexpr char kNewerVersion[] =
    "{} has trace version {}, but this gpuprof reads version {}; use a newer gpuprof";

// Damage. {}: path, position, one of the reasons below, writer
inline constexpr char kDamaged[] = "{} is damaged {}: {}";
inline constexpr char kDamagedByWriter[] = "{} is damaged {}: {} (probably written by {})";
inline constexpr char kPosition[] = "at line {}, column {} (byte {}), around `{}`";

// Reasons
inline constexpr char kExpectedCommaOrObjectEnd[] = "expected a comma or the end of the object";
inline constexpr char kExpectedCommaOrListEnd[] = "expected a comma or the end of the event list";
inline constexpr char kExpectedCommaOrEnd[] = "expected a comma or the end of the object or list";
inline constexpr char kExpectedName[] = "expected the name of a member";
inline constexpr char kExpectedColon[] = "expected a colon";
inline constexpr char kExpectedValue[] = "expected a value";
inline constexpr char kExpectedFileEnd[] = "expected the end of the file";
inline constexpr char kSecondText[] =
    "a second JSON text follows the trace; put each in its own file";
inline constexpr char kTextEnds[] = "the JSON text ends here";
inline constexpr char kNestedTooDeeply[] = "it is nested too deeply";
inline constexpr char kRepeatedName[] = "a member name occurs twice after an unescaped quote";
inline constexpr char kMisplacedQuote[] = "a quote is not possible here";
inline constexpr char kUnterminatedString[] = "a string is not terminated";
inline constexpr char kMemberInList[] = "a list contains a member";
inline constexpr char kAmbiguousQuote[] =
    "a string contains an unescaped quote, so its end is ambiguous";
inline constexpr char kStringOverEvents[] = "a string would reach over two events";

}  // namespace gpuprof::messages::import_json
