// SPDX-License-Identifier: Apache-2.0
//
// Summary as JSON and back: one list of fields a struct serves both directions.
//
// Context:  daemon | cli
// Owns:     nothing
#include "recording/session/summary.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <type_traits>

#include "recording/messages/recording_options.hpp"
#include "support/text/json.hpp"

namespace gpuprof::recording {
namespace {

template <typename S, typename Visit>
requires std::is_same_v<std::remove_const_t<S>, SummaryFile>
void for_each_field(S& s, Visit&& visit) {
  visit("path", s.path), visit("format", s.format), visit("pid", s.pid);
  visit("window", s.window), visit("bytes", s.bytes), visit("events", s.events);
  visit("steps", s.steps);
}
template <typename S, typename Visit>
requires std::is_same_v<std::remove_const_t<S>, SummaryWindow>
void for_each_field(S& s, Visit&& visit) {
  visit("index", s.index), visit("start_ns", s.start_ns), visit("end_ns", s.end_ns);
  visit("first_step", s.first_step), visit("steps", s.steps), visit("why", s.why);
}
template <typename S, typename Visit>
requires std::is_same_v<std::remove_const_t<S>, SummaryProcess>
void for_each_field(S& s, Visit&& visit) {
  visit("pid", s.pid), visit("ppid", s.ppid), visit("exe", s.exe);
  visit("command_line", s.command_line), visit("role", s.role), visit("woke", s.woke);
  visit("samples", s.samples), visit("gpu_events", s.gpu_events);
  visit("api_calls", s.api_calls), visit("ranges", s.ranges), visit("steps", s.steps);
  visit("operators", s.operators), visit("allocations", s.allocations);
  visit("cpu_ns", s.cpu_ns), visit("end", s.end);
}
template <typename S, typename Visit>
requires std::is_same_v<std::remove_const_t<S>, SummaryOverhead>
void for_each_field(S& s, Visit&& visit) {
  visit("worker_cpu_ns", s.worker_cpu_ns), visit("samples", s.samples);
  visit("launch_callbacks", s.launch_callbacks), visit("nvtx_calls", s.nvtx_calls);
  visit("sampler", s.sampler), visit("effective_rate_hz", s.effective_rate_hz);
  visit("daemon_cpu_ns", s.daemon_cpu_ns), visit("daemon_peak_bytes", s.daemon_peak_bytes);
  visit("limit", s.limit), visit("own_ns", s.own_ns);
  visit("highest_percent", s.highest_percent), visit("last_percent", s.last_percent);
}
template <typename S, typename Visit>
requires std::is_same_v<std::remove_const_t<S>, SummaryReduction>
void for_each_field(S& s, Visit&& visit) {
  visit("pid", s.pid), visit("tid", s.tid), visit("since_ns", s.since_ns);
  visit("percent", s.percent), visit("what", s.what);
}
template <typename S, typename Visit>
requires std::is_same_v<std::remove_const_t<S>, Summary>
void for_each_field(S& s, Visit&& visit) {
  visit("version", s.version), visit("host", s.host), visit("output", s.output);
  visit("name", s.name);
  visit("complete", s.complete), visit("simulated", s.simulated);
  visit("drops_known", s.drops_known), visit("stopped", s.stopped);
  visit("told_to_end", s.terminated), visit("nothing", s.nothing);
  visit("spool_folder", s.spool_folder);
  visit("duration_ns", s.duration_ns), visit("files", s.files), visit("windows", s.windows);
  visit("events_by_kind", s.events_by_kind), visit("drops_by_reason", s.drops_by_reason);
  visit("ring_drops_by_kind", s.ring_drops_by_kind);
  visit("processes", s.processes), visit("processes_seen", s.processes_seen);
  visit("processes_traced", s.processes_traced), visit("peers_refused", s.peers_refused);
  visit("overhead", s.overhead), visit("left_out", s.left_out), visit("missing", s.missing),
      visit("remarks", s.remarks);
  visit("failures", s.failures), visit("open_with", s.open_with);
}

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;
using Value = rapidjson::Value;

void write(Writer& to, bool v) { to.Bool(v); }
void write(Writer& to, double v) { to.Double(v); }
void write(Writer& to, std::uint32_t v) { to.Uint(v); }
void write(Writer& to, std::uint64_t v) { to.Uint64(v); }
void write(Writer& to, const std::string& v) {
  to.String(v.data(), static_cast<rapidjson::SizeType>(v.size()));
}
void write(Writer& to, const Counts& counts) {
  to.StartObject();
  for (const auto& [name, count] : counts) {
    to.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    to.Uint64(count);
  }
  to.EndObject();
}
template <typename T>
void write(Writer& to, const std::vector<T>& list);
template <typename S>
requires std::is_class_v<S>
void write(Writer& to, const S& object) {
  to.StartObject();
  for_each_field(object, [&to](const char* key, const auto& field) {
    to.Key(key);
    write(to, field);
  });
  to.EndObject();
}
template <typename T>
void write(Writer& to, const std::vector<T>& list) {
  to.StartArray();
  for (const T& item : list) write(to, item);
  to.EndArray();
}

bool read(const Value& from, bool* v) { return from.IsBool() && (*v = from.GetBool(), true); }
bool read(const Value& from, double* v) { return from.IsNumber() && (*v = from.GetDouble(), true); }
bool read(const Value& from, std::uint32_t* v) {
  return from.IsUint() && (*v = from.GetUint(), true);
}
bool read(const Value& from, std::uint64_t* v) {
  return from.IsUint64() && (*v = from.GetUint64(), true);
}
bool read(const Value& from, std::string* v) {
  return from.IsString() && (v->assign(from.GetString(), from.GetStringLength()), true);
}
bool read(const Value& from, Counts* counts) {
  if (!from.IsObject()) return false;
  for (const auto& member : from.GetObject()) {
    if (!member.value.IsUint64()) return false;
    counts->emplace_back(member.name.GetString(), member.value.GetUint64());
  }
  return true;
}
template <typename T>
bool read(const Value& from, std::vector<T>* list);
template <typename S>
requires std::is_class_v<S>
bool read(const Value& from, S* object) {
  if (!from.IsObject()) return false;
  bool good = true;
  for_each_field(*object, [&](const char* key, auto& field) {
    const auto at = from.FindMember(key);
    if (at != from.MemberEnd() && !read(at->value, &field)) good = false;
  });
  return good;
}
template <typename T>
bool read(const Value& from, std::vector<T>* list) {
  if (!from.IsArray()) return false;
  for (const Value& item : from.GetArray()) {
    list->emplace_back();
    if (!read(item, &list->back())) return false;
  }
  return true;
}

}  // namespace

std::string to_json(const Summary& summary) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  write(writer, summary);
  return {buffer.GetString(), buffer.GetSize()};
}

support::Result<Summary> from_json(const std::string& text) {
  auto document = support::parse_json(text);
  if (!document)
    return support::error(
        fmt::format(messages::recording_options::kSummaryUnreadable, document.error().message));
  Summary summary;
  if (!read(document.value(), &summary))
    return support::error(messages::recording_options::kSummaryField);
  return summary;
}

}  // namespace gpuprof::recording
