// SPDX-License-Identifier: Apache-2.0
//
// Log lines of our own processes: on stderr, one a state change, never one an event.
//
// Context:  daemon | cli
#include "support/io/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <utility>

#include "support/messages/io.hpp"
#include "support/text/text.hpp"

namespace gpuprof::support {
namespace {

void install(const std::string& program, spdlog::sink_ptr sink, const char* pattern) {
  auto logger = std::make_shared<spdlog::logger>(program, std::move(sink));
  logger->set_pattern(pattern);
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace

void disable_log() { install("gpuprof", std::make_shared<spdlog::sinks::null_sink_mt>(), "%v"); }

void log_to_stderr(const std::string& program) {
  install(program, std::make_shared<spdlog::sinks::stderr_sink_mt>(), "%n[%l] %v");
}

Result<void> log_to_file(const std::string& program, const std::string& path) {
  try {
    install(program, std::make_shared<spdlog::sinks::basic_file_sink_mt>(path),
            "%Y-%m-%dT%H:%M:%S.%f %n[%l] %v");
  } catch (const spdlog::spdlog_ex& failure) {
    return error(fmt::format(messages::io::kCannotWriteLog, in_quotes(path), failure.what()));
  }
  return {};
}

void log_to_sink(const std::string& program, std::shared_ptr<spdlog::sinks::sink> sink) {
  install(program, std::move(sink), "%n[%l] %v");
}

}  // namespace gpuprof::support
