// SPDX-License-Identifier: Apache-2.0
//
// Call log and error rules of the simulated CUPTI.
//
// Context:  any
// Owns:     one leaked LineLog; the use counters of the error rules
// Promises: see call.hpp
// Not here: behaviour of the calls
#include "cupti/api/call.hpp"

#include <atomic>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/clock.hpp"
#include "core/config.hpp"
#include "core/line_log.hpp"
#include "cupti/state.hpp"

namespace gpusim {
namespace {

LineLog* log_file() {
  static LineLog* const log =
      config().log_path != nullptr ? new LineLog(config().log_path) : nullptr;
  return log;
}

std::atomic<std::uint32_t> g_uses[kMaxErrorRules];

/// The code of the first rule that fires for this use of `function`, or -1.
int rule_result(const char* function) {
  const Config& c = config();
  int found = -1;
  for (int i = 0; i < c.error_rules; ++i) {
    const ErrorRule& r = c.errors[i];
    if (std::strcmp(r.function, function) != 0) continue;
    const std::uint32_t use = g_uses[i].fetch_add(1) + 1;
    if (found < 0 && (use == r.nth || (r.and_later && use >= r.nth))) found = r.code;
  }
  return found;
}

}  // namespace

ApiEntry::ApiEntry(const void* caller, const char* function, Requirement need, LogLevel noise,
                   const char* format, ...)
    : client_(client_of(caller)),
      function_(function),
      need_(need),
      logged_(config().log_path != nullptr && (noise == LogLevel::kNormal || config().log_all)) {
  arguments_[0] = '\0';
  if (!logged_) return;
  start_ns_ = now_ns();
  va_list list;
  va_start(list, format);
  std::vsnprintf(arguments_, sizeof arguments_, format, list);
  va_end(list);
}

int ApiEntry::early_result() {
  if (config().error_rules > 0) {
    const int code = rule_result(function_);
    if (code >= 0) return code;
  }
  if (need_ == Requirement::kNothing) return -1;
  if (driver_gone().load()) return CUPTI_ERROR_NOT_INITIALIZED;
  return driver_reachable() ? -1 : CUPTI_ERROR_UNKNOWN;
}

CUptiResult ApiEntry::done(CUptiResult result) {
  if (!logged_) return result;
  char line[768];
  const int n = std::snprintf(
      line, sizeof line,
      "{\"t\":\"cupti\",\"f\":\"%s\",\"args\":\"%s\",\"result\":%d,\"tid\":%u,"
      "\"client\":%d,\"start\":%" PRIu64 ",\"end\":%" PRIu64 "}\n",
      function_, arguments_, result, current_tid(), current_client(), start_ns_, now_ns());
  if (n > 0) log_file()->append(line, static_cast<std::size_t>(n));
  return result;
}

void log_callback(const char* name, const void* data, std::size_t size, std::size_t valid) {
  if (config().log_path == nullptr) return;
  char line[256];
  const int n = std::snprintf(
      line, sizeof line,
      "{\"t\":\"callback\",\"f\":\"%s\",\"buffer\":\"%p\",\"size\":%zu,\"valid\":%zu,\"tid\":%u,"
      "\"client\":%d,\"start\":%" PRIu64 "}\n",
      name, data, size, valid, current_tid(), current_client(), now_ns());
  if (n > 0) log_file()->append(line, static_cast<std::size_t>(n));
}

void close_call_log() {
  if (config().log_path != nullptr) log_file()->trim();
}

}  // namespace gpusim
