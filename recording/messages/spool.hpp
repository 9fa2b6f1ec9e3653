// SPDX-License-Identifier: Apache-2.0
//
// Messages about spools: files that cannot be read or written (docs/messages.md has the rules of
// their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::spool {

// Reading. {}: path, reason
inline constexpr char kCannotReadSpoolFile[] = "cannot read the spool file {}: {}";
inline constexpr char kNotARegularFile[] = "{} is not a regular file";
inline constexpr char kNotASpoolFile[] = "{} is not a gpuprof spool file";
inline constexpr char kOtherVersion[] =
    "{} has spool version {}, this gpuprof reads version {}; export it with the gpuprof that "
    "recorded it";
inline constexpr char kCannotRead[] = "cannot read {}: {}";
inline constexpr char kMayNotRead[] = "cannot read {}: {}; run this as its owner";
inline constexpr char kMayNotReadFolder[] = "cannot read the folder {}: {}; run this as its owner";
inline constexpr char kNoFolder[] = "there is no folder {}";
inline constexpr char kIsAFile[] =
    "{} is a file; name the folder that contains it, .gpuprof-spool-...";
inline constexpr char kNotASpoolFolder[] = "{} is not a spool folder: it has no {}";
inline constexpr char kSpoolFolderInside[] =
    "{} is not a spool folder: it has no {}; did you mean {}?";
inline constexpr char kLogIsGone[] =
    "{} cannot be exported: its {} is gone, and {} cannot be read without it";
inline constexpr char kLogIsEmpty[] = "{} is empty: nothing can be exported from it";
inline constexpr char kLogEndsAtOnce[] =
    "{} ends inside its first line: nothing can be exported from it";
inline constexpr char kLogIsForeign[] =
    "{} does not begin like a session log of gpuprof; did another program write it?";
inline constexpr char kLogIsDamaged[] = "{} is damaged at line {}: gpuprof did not write this line";
// {}: number of lines, path, the first of them
inline constexpr char kDamagedLine[] =
    "1 line of {} is damaged and skipped, line {}: a process, a window or a notice may be missing";
inline constexpr char kDamagedLines[] =
    "{} lines of {} are damaged and skipped, line {} is the first: a process, a window or a notice "
    "may be missing";

// Writing. {}: path, reason, what to do
inline constexpr char kCannotCreate[] = "cannot create {}: {}";
inline constexpr char kCannotCreateSpoolFile[] = "cannot create the spool file {}: {}";
inline constexpr char kCannotBeginSpoolFile[] = "cannot write the spool file {}: {}{}";
inline constexpr char kCannotCompleteLog[] =
    "cannot complete {}/{} ({}{}): what it lacks is not exported";
inline constexpr char kFileSizeLimit[] =
    "cannot write the spool: {}. Earlier events are kept, later ones are lost; raise the limit on "
    "file sizes (ulimit -f)";
inline constexpr char kCannotWriteSpool[] =
    "cannot write the spool: {}. Earlier events are kept, later ones are lost; make room there, or "
    "write elsewhere with -o";

}  // namespace gpuprof::messages::spool
