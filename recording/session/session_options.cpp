// SPDX-License-Identifier: Apache-2.0
//
// SessionOptions as text and back: one list of fields serves both directions.
//
// Context:  cli | daemon
// Owns:     nothing
// Not here: how options are typed (cli/options/), what they do (daemon/session)
#include "recording/session/session_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <type_traits>

#include "gpuprof/wire/messages.hpp"
#include "recording/messages/recording_options.hpp"
#include "support/text/text.hpp"

namespace gpuprof::recording {
namespace {

/// Calls visit(key, field) for every option. The only list: a field that is not here does not
/// travel, and the test that changes every field fails.
template <typename Options, typename Visit>
void for_each_field(Options& o, Visit&& visit) {
  visit("output", o.output);
  visit("output_is_pattern", o.output_is_pattern);
  visit("force", o.force);
  visit("formats", o.formats);
  visit("span_size_events", o.span_size_events);
  visit("max_size_bytes", o.max_size_bytes);
  visit("keep", o.keep);
  visit("all_processes", o.all_processes);
  visit("trace", o.trace);
  visit("trace_given", o.trace_given);
  visit("rate_hz", o.rate_hz);
  visit("sampler", o.sampler);
  visit("blocked_threads", o.blocked_threads);
  visit("record_shapes", o.record_shapes);
  visit("with_stack", o.with_stack);
  visit("with_modules", o.with_modules);
  visit("profile_memory", o.profile_memory);
  visit("cuda_graph", o.cuda_graph);
  visit("buffer_size_bytes", o.buffer_size_bytes);
  visit("skip_first", o.schedule.skip_first);
  visit("wait", o.schedule.wait);
  visit("warmup", o.schedule.warmup);
  visit("active", o.schedule.active);
  visit("repeat", o.schedule.repeat);
  visit("schedule_given", o.schedule.given);
  visit("step", o.step);
  visit("on_no_step", o.on_no_step);
  visit("step_timeout_ns", o.step_timeout_ns);
  visit("armed", o.armed);
  visit("of_running", o.running_processes);
  visit("name", o.name);
  visit("wait_for", o.wait_for);
  visit("command_line", o.command_line);
  visit("working_directory", o.working_directory);
  visit("version", o.version);
  visit("max_overhead", o.max_overhead);
}

std::string to_value(const std::string& value) { return value; }
std::string to_value(bool value) { return value ? "1" : "0"; }
std::string to_value(std::uint64_t value) { return std::to_string(value); }
std::string to_value(std::uint32_t value) { return std::to_string(value); }
std::string to_value(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ",") + value;
  return text;
}
std::string to_value(const Extent& extent) {
  switch (extent.unit) {
    case Extent::Unit::kNone:
      return "none";
    case Extent::Unit::kSteps:
      return "steps:" + std::to_string(extent.value);
    case Extent::Unit::kTime:
      return "ns:" + std::to_string(extent.value);
  }
  return "none";
}

template <typename Number>
bool parse_number(std::string_view text, Number* value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  return !text.empty() && result.ec == std::errc() && result.ptr == end;
}

bool from_value(std::string_view text, std::string* value) {
  *value = text;
  return true;
}
bool from_value(std::string_view text, bool* value) {
  *value = text == "1";
  return text == "0" || text == "1";
}
bool from_value(std::string_view text, std::uint64_t* value) { return parse_number(text, value); }
bool from_value(std::string_view text, std::uint32_t* value) { return parse_number(text, value); }
bool from_value(std::string_view text, std::vector<std::string>* values) {
  values->clear();
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma == 0) return false;
    values->emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return !values->empty();
}
bool from_value(std::string_view text, Extent* extent) {
  *extent = Extent{};
  if (text == "none") return true;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view unit = text.substr(0, colon);
  if (unit != "steps" && unit != "ns") return false;
  extent->unit = unit == "steps" ? Extent::Unit::kSteps : Extent::Unit::kTime;
  return parse_number(text.substr(colon + 1), &extent->value);
}

std::string escape(const std::string& value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

bool unescape(std::string_view value, std::string* out) {
  out->clear();
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\\') {
      *out += value[i];
      continue;
    }
    if (++i == value.size() || (value[i] != '\\' && value[i] != 'n')) return false;
    *out += value[i] == 'n' ? '\n' : '\\';
  }
  return true;
}

bool one_of(const std::string& value, std::initializer_list<std::string_view> allowed) {
  for (const std::string_view word : allowed)
    if (value == word) return true;
  return false;
}

bool keep_is_valid(const std::string& keep) {
  if (keep == "all") return true;
  std::uint64_t count = 0;
  for (const std::string_view prefix : {"first:", "last:"})
    if (keep.compare(0, prefix.size(), prefix) == 0)
      return parse_number(std::string_view(keep).substr(prefix.size()), &count) && count > 0;
  return false;
}

bool units_agree(const ScheduleOptions& schedule) {
  Extent::Unit seen = Extent::Unit::kNone;
  for (const Extent* extent :
       {&schedule.skip_first, &schedule.wait, &schedule.warmup, &schedule.active}) {
    if (extent->unit == Extent::Unit::kNone) continue;
    if (seen != Extent::Unit::kNone && seen != extent->unit) return false;
    seen = extent->unit;
  }
  return true;
}

support::Result<SessionOptions> checked(SessionOptions options) {
  const auto bad = [](const std::string& key, const std::string& value) {
    return support::error(fmt::format(messages::recording_options::kWrongValue, key, value));
  };
  if (!one_of(options.sampler, {"auto", "perf", "cpu-timer", "tgkill", "wall-test-only", "off"}))
    return bad("sampler", options.sampler);
  if (!one_of(options.cuda_graph, {"", "node", "graph"}))
    return bad("cuda_graph", options.cuda_graph);
  if (!one_of(options.on_no_step, {"time", "none"})) return bad("on_no_step", options.on_no_step);
  if (!one_of(options.wait_for, {"primary", "all"})) return bad("wait_for", options.wait_for);
  if (!keep_is_valid(options.keep)) return bad("keep", options.keep);
  // The command line stops at 1000; tests go further, the library itself at 20,000.
  if (options.rate_hz > 20'000) return bad("rate_hz", std::to_string(options.rate_hz));
  if (!units_agree(options.schedule))
    return support::error(messages::recording_options::kMixedUnits);
  return options;
}

}  // namespace

bool SessionOptions::wants_samples() const {
  return rate_hz != 0 && (trace & (wire::kTracePython | wire::kTraceNative)) != 0;
}

std::string to_text(const SessionOptions& options) {
  std::string text;
  for_each_field(options, [&text](const char* key, const auto& field) {
    text += std::string(key) + "=" + escape(to_value(field)) + "\n";
  });
  return text;
}

support::Result<SessionOptions> from_text(const std::string& text) {
  SessionOptions options;
  for (const std::string& line : support::split(text, '\n')) {
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    const std::string key = line.substr(0, equals);
    if (equals == std::string::npos)
      return support::error(fmt::format(messages::recording_options::kLineWithoutEquals, key));
    std::string value;
    if (!unescape(line.substr(equals + 1), &value))
      return support::error(fmt::format(messages::recording_options::kWrongEscape, key));
    bool known = false, good = false;
    for_each_field(options, [&](const char* name, auto& field) {
      if (key != name) return;
      known = true;
      good = from_value(value, &field);
    });
    if (!known)
      return support::error(fmt::format(messages::recording_options::kUnknownOption, key));
    if (!good)
      return support::error(fmt::format(messages::recording_options::kWrongValue, key, value));
  }
  return checked(std::move(options));
}

}  // namespace gpuprof::recording
