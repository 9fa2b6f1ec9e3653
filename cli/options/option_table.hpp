// SPDX-License-Identifier: Apache-2.0
//
// The one list of options: parsing, help, the manual page and the completions are made from it.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <span>
#include <string>

#include "cli/options/options.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

// Commands an option belongs to, as bits.
inline constexpr unsigned kRun = 1;
inline constexpr unsigned kExport = 2;
inline constexpr unsigned kDoctor = 4;
inline constexpr unsigned kHelp = 8;
inline constexpr unsigned kAttach = 16;
inline constexpr unsigned kCapture = 32;
inline constexpr unsigned kStatus = 64;
inline constexpr unsigned kStop = 128;
inline constexpr unsigned kDetach = 256;
inline constexpr unsigned kEnv = 512;
inline constexpr unsigned kServe = 1024;
inline constexpr unsigned kReport = 2048;
inline constexpr unsigned kDiff = 4096;
/// Commands whose words are processes.
inline constexpr unsigned kProcessCommands =
    kAttach | kCapture | kStatus | kStop | kDetach | kServe;
/// Commands that record.
inline constexpr unsigned kRecordingCommands = kRun | kAttach | kCapture;
/// Commands that take what to record.
inline constexpr unsigned kSourceCommands = kRecordingCommands | kServe;
inline constexpr unsigned kAllCommands = kSourceCommands | kExport | kDoctor | kHelp | kStatus |
                                         kStop | kDetach | kEnv | kReport | kDiff;

/// What the setter of a switch gets for its opposite.
inline constexpr char kNegatedValue[] = "no";

struct OptionRow {
  const char* names;         // "-o,--output"; "--x,!--no-x": a switch with its opposite
  const char* value;         // "PATH"; empty: a switch
  const char* section;       // heading in the help
  unsigned commands;         // where it may stand
  const char* help;          // one or two sentences, no full stop at the end; see option_help()
  const char* default_text;  // its default in words; empty: none worth showing
  const char* completion;    // for shells: "file", "folder", "" or the words it takes
  /// Takes the value over (of a switch: "" or kNegatedValue), or says in one sentence what is wrong
  /// with it.
  support::Result<void> (*set)(Options& options, const std::string& value);
  bool repeats = false;  // each one given counts, not only the last
};

std::span<const OptionRow> option_table();

/// The row an option such as `-o` or `--output` belongs to, or null.
const OptionRow* find_option(const std::string& name, unsigned command);

/// The help of a row, with what is known only to the list of formats put in.
std::string option_help(const OptionRow& row);

/// The names of a row: "-o" and "--output".
std::vector<std::string> option_names(const OptionRow& row);

/// `completion` of a row, with words that depend on the build (formats) filled in.
std::string completion_values(const OptionRow& row);

}  // namespace gpuprof::cli
