// SPDX-License-Identifier: Apache-2.0
//
// Metadata of a recording: program, windows, event counts, and what is missing.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gpuprof::report {

struct WindowMeta {
  std::uint32_t index = 0;
  std::uint64_t start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t start_real_ns = 0;         // CLOCK_REALTIME of the start
  std::uint64_t first_label = 0, steps = 0;
  std::string reason;
};

struct Meta {
  std::string host, program, command;
  std::string source;  // as the person named it
  std::uint32_t pid = 0;
  std::int64_t rank = -1;  // -1: not told
  std::uint32_t world_size = 0;
  bool simulated = false;
  bool imported = false;  // from a trace file
  std::vector<WindowMeta> windows;
  std::uint64_t start_ns = 0, end_ns = 0;    // of events
  std::uint64_t recorded_ns = 0;             // the windows together; the sum of WallTime's rows
  std::map<std::string, std::string> facts;  // versions, environment
  std::vector<std::pair<std::string, std::uint64_t>> events;  // by kind
  std::vector<std::pair<std::string, std::uint64_t>> drops;   // by reason
  std::vector<std::string> missing, notices;                  // sentences
};

}  // namespace gpuprof::report
