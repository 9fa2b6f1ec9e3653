// SPDX-License-Identifier: Apache-2.0
//
// One recording, by `gpuprof capture`, and the files it made.
//
// Context:  serve
// Owns:     nothing once a call has returned: the command has ended, its folder is gone
// Not here: when, and of whom (profiler_service_impl.cpp, target_processes.cpp)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::serve {

/// For writing the files of a recording that was told to end; then it is killed.
constexpr std::uint64_t kMaxWriteTime_ns = 120'000'000'000;

/// How gpuprof is called.
struct CaptureCommand {
  std::string gpuprof;             // its path
  std::vector<std::string> words;  // options of `gpuprof capture` that every recording gets
  bool named = false;              // each process gets a file, whatever it does
};

struct CaptureRequest {
  std::uint64_t record_ns = 0;
  std::uint32_t trace = 0;  // wire::kTrace… bits, not 0
  std::vector<std::uint32_t> pids;
};

struct CapturedFile {
  std::string name;  // "xplane.pb", or of several "WORKER.xplane.pb"
  std::string data;
};

/// Records; empty if there was nothing to record.
///
/// @param ends_early  Asked every 20 ms; once it is true the recording ends, with its files.
/// Errors: gpuprof's own sentence; files that are too large to be sent.
support::Result<std::vector<CapturedFile>> capture(const CaptureCommand& command,
                                                   const CaptureRequest& order,
                                                   const std::function<bool()>& ends_early);

/// Names of the answer for paths of files: distinct, without anything but letters, digits and . _ -
std::vector<std::string> response_file_names(const std::vector<std::string>& paths);

}  // namespace gpuprof::serve
