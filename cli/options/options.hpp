// SPDX-License-Identifier: Apache-2.0
//
// What a person asked for on the command line, as a plain struct.
//
// Context:  cli
// Owns:     nothing
// Not here: which options exist (option_table.hpp), how they are read (parse.hpp)
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recording/session/session_options.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {

struct Options {
  recording::SessionOptions session;   // what the daemon is told
  std::vector<std::string> command;    // run: the program and its arguments, untouched
  std::vector<std::string> arguments;  // other commands: what is not an option

  std::string output;  // as typed
  bool formats_given = false;
  std::optional<support::StepsOrTime> skip_first, wait, warmup, active, delay, duration;
  std::optional<std::uint64_t> repeat;

  std::string summary_json;
  std::string daemon_path;
  bool quiet = false;
  bool verbose = false;
  bool strict = false;

  bool json = false;   // doctor, status, env
  bool shell = false;  // env
  // attach, capture, stop, detach
  std::vector<std::uint32_t> pids;
  bool children = false, all = false, stay = false, ignore_seccomp = false;
  std::uint32_t pid = 0;        // doctor
  bool try_recording = false;   // doctor
  bool use_role_rules = false;  // processes named get a file only where the rules of run say so
  std::string serve;            // run: --serve; serve: --at
  bool serve_to_network = false;
  // diff
  std::vector<std::string> fail_if;
  std::optional<double> min_change, min_share;  // ratios
  // report
  std::string by, sort_by, html;
  bool by_input_shape = false, csv = false, advice_only = false;
  std::vector<std::string> fail_on;
  std::uint32_t by_stack = 0;
  std::vector<std::string> columns;
  std::optional<std::uint64_t> row_limit;
  std::optional<std::uint32_t> rank;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> report_steps;
  bool help = false;
};

}  // namespace gpuprof::cli
