// SPDX-License-Identifier: Apache-2.0
//
// Messages about files and folders that are read as traces (docs/messages.md has the rules of their
// wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::import_files {

// What a named path is. {}: path, reason
inline constexpr char kNoSuchFile[] = "cannot open {}: no such file or folder";
inline constexpr char kRunAsOwner[] = "cannot read {}; run this as its owner";
inline constexpr char kNeitherFileNorFolder[] = "{} is neither a file nor a folder";
inline constexpr char kEmptyFile[] = "{} is empty, or not written yet";
inline constexpr char kNoThread[] =
    "cannot read {}: cannot create a thread; raise the limit on processes (ulimit -u)";

// Folders. {}: folder, number or reason or runs
inline constexpr char kTooManyEntries[] =
    "the folder {} has more than {} entries; name the trace files";
inline constexpr char kNothingInFolder[] =
    "{} contains no gpuprof session and no trace (.json or .json.gz)";
inline constexpr char kSeveralRuns[] = "{} contains several runs; name one of them: {}{}";

// Formats that are not traces. {}: path, compression program
inline constexpr char kCompressed[] = "{} is compressed with {}; decompress it first: {} -d";
inline constexpr char kUtf16[] = "{} is UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8";
inline constexpr char kNotATrace[] =
    "{} is not a trace: {}; expected a JSON trace from PyTorch, Kineto or gpuprof, or a session "
    "folder";
inline constexpr char kPackedNotJson[] = "its gzip data is not JSON";
inline constexpr char kNeitherGzipNorJson[] = "it is neither gzip nor JSON";
inline constexpr char kNotJson[] = "it is not JSON";

// gzip. {}: path, error number
inline constexpr char kDamagedGzip[] =
    "{} is damaged: its gzip data cannot be decompressed (error {})";
inline constexpr char kTruncatedGzip[] =
    "{} ends in the middle of its gzip data: it is truncated or still being written";

// Files of a folder that are not traces. {}: number, names with reasons
inline constexpr char kFileNotRead[] = "{} file of the folder is not read as a trace: {}";
inline constexpr char kFilesNotRead[] = "{} files of the folder are not read as traces: {}";
inline constexpr char kOtherName[] = "the folder has files named *.pt.trace.json";
inline constexpr char kBeginsUnlikeJson[] = "does not begin with a JSON object or array";

// Temporary files. {}: file or folder, reason
inline constexpr char kCannotCreateFolder[] =
    "cannot create the temporary folder {}: {}; set TMPDIR";
inline constexpr char kNoSpace[] = "cannot write to {}: {}; set TMPDIR to a folder with more space";
inline constexpr char kFileTooLarge[] =
    "cannot write to {}: {}; raise the limit on file sizes (ulimit -f)";
inline constexpr char kTooManyFiles[] =
    "cannot write to {}: {}; raise the limit on open files (ulimit -n) or name fewer traces: each "
    "process takes a file";
inline constexpr char kCannotReadBack[] = "cannot read from {}: {}";
inline constexpr char kFileTooShort[] = "the file is too short";

}  // namespace gpuprof::messages::import_files
