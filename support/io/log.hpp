// SPDX-License-Identifier: Apache-2.0
//
// Log lines of our own processes: on stderr, one a state change, never one an event.
//
// Context:  daemon | cli
// Owns:     the process-wide logger of spdlog (its default logger)
// Promises: nothing goes to stdout; silent until log_to_stderr or log_to_file is called
#pragma once

#include <memory>
#include <string>

#include <spdlog/spdlog.h>

#include "support/result.hpp"

namespace gpuprof::support {

/// Until this or log_to_file is called, log lines are thrown away.
void disable_log();

/// Lines `PROGRAM[level] text` on stderr.
void log_to_stderr(const std::string& program);

/// Lines with the time, appended to `path`.
Result<void> log_to_file(const std::string& program, const std::string& path);

/// For tests: everything goes to `sink`.
void log_to_sink(const std::string& program, std::shared_ptr<spdlog::sinks::sink> sink);

}  // namespace gpuprof::support
