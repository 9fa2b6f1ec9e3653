// SPDX-License-Identifier: Apache-2.0
//
// What stands before the events: device properties, rank, clock, losses, versions, what is missing.
//
// Context:  daemon (export thread) | cli
// Promises: "traceEvents" is the last key, since the installed plugin writes behind the last ']'
#include <string>

#include "analysis/export/labels/rank.hpp"
#include "analysis/export/prescan/read_window.hpp"
#include "analysis/export/tensorboard/tensorboard_sections.hpp"
#include "recording/model/loss.hpp"

namespace gpuprof::exporter {
namespace {

/// `"key":value` pairs with commas between them.
class HeaderMembers {
 public:
  explicit HeaderMembers(BufferedWriter& json) : json_(json) {}

  BufferedWriter& key(std::string_view name) {
    json_.reserve(64);
    json_.raw(first_ ? "\n  " : ",\n  ").string(name).raw(":");
    first_ = false;
    json_.reserve(1024);
    return json_;
  }
  HeaderMembers& add(std::string_view name, std::string_view value) {
    key(name).string(value);
    return *this;
  }
  HeaderMembers& add(std::string_view name, std::uint64_t value) {
    key(name).number(value);
    return *this;
  }

 private:
  BufferedWriter& json_;
  bool first_ = true;
};

void write_device(BufferedWriter& json, const model::Device& d, const NameTable& names,
                  bool known) {
  const std::string_view shown = known ? names.text(d.name) : "not described";
  json.reserve(1024 + shown.size());
  json.raw("{\"id\":").number(d.device).raw(",\"name\":\"").raw(shown).raw("\"");
  const std::pair<std::string_view, std::uint64_t> numbers[] = {
      {"totalGlobalMem", d.total_memory_bytes},
      {"computeMajor", d.compute_major},
      {"computeMinor", d.compute_minor},
      {"maxThreadsPerBlock", d.max_threads_per_block},
      {"maxThreadsPerMultiprocessor", d.max_threads_per_sm},
      {"maxBlocksPerMultiprocessor", d.max_blocks_per_sm},
      {"regsPerBlock", d.registers_per_block},
      {"regsPerMultiprocessor", d.registers_per_sm},
      {"warpSize", d.warp_size},
      {"sharedMemPerBlock", d.shared_per_block_bytes},
      {"sharedMemPerBlockOptin", d.shared_per_block_optin_bytes},
      {"sharedMemPerMultiprocessor", d.shared_per_sm_bytes},
      {"numSms", d.sm_count},
      {"clockRateKHz", d.clock_khz},
      {"memoryClockRateKHz", d.memory_clock_khz},
      {"memoryBusWidth", d.memory_bus_bits},
      {"l2CacheSize", d.l2_bytes}};
  for (const auto& [name, value] : numbers) json.raw(",\"").raw(name).raw("\":").number(value);
  json.raw("}");
}

/// One entry an index: viewers look devices up by position.
void write_devices(JsonTraceState& t) {
  BufferedWriter& json = t.json;
  json.text("\"deviceProperties\":[");
  const auto& devices = t.prescan.devices;
  const std::uint32_t last =
      devices.empty() ? 0 : std::min(devices.rbegin()->first, kMaxDevicePids);
  for (std::uint32_t index = 0; !devices.empty() && index <= last; ++index) {
    const auto found = devices.find(index);
    model::Device unknown{};
    unknown.device = index;
    json.text(index == 0 ? "\n  " : ",\n  ");
    const bool known = found != devices.end();
    write_device(json, known ? found->second : unknown, t.prescan.names, known);
  }
  json.text("],\n");
}

void write_rank(JsonTraceState& t) {
  const Rank rank = rank_of(t.prescan.facts);
  if (!rank.known() && !t.spelling.always_has_rank) return;
  // The blank after the colon is what one of the readers searches for; it takes files of one
  // rank for one another.
  t.json.text("\"distributedInfo\":{\"rank\": ").reserve(256);
  t.json.number(rank.known() ? rank.rank : t.place);
  if (rank.world_size != 0) t.json.raw(",\"world_size\": ").number(rank.world_size);
  // A spool that lost the fact still has the ranges named after it.
  const std::string_view backend =
      rank.backend.empty() ? t.prescan.collectives.backend() : std::string_view(rank.backend);
  if (!backend.empty()) t.json.raw(",\"backend\": ").string(backend);
  t.json.raw("},\n");
}

void write_window_info(HeaderMembers& members, const model::Window& window) {
  BufferedWriter& json = members.key("window");
  json.raw("{\"index\":").number(window.index).raw(",\"start_ns\":").number(window.start_ns);
  json.raw(",\"duration_ns\":").number(window.end_ns - window.start_ns);
  json.raw(",\"first_step\":").number(window.first_label);
  json.raw(",\"steps\":").number(window.steps).raw(",\"why\":").string(window.why);
  json.reserve(16);
  json.raw("}");
}

void write_counts(HeaderMembers& members, const Prescan& prescan) {
  BufferedWriter& json = members.key("events");
  json.raw("{");
  bool first = true;
  for (std::size_t i = 0; i < prescan.counts.size(); ++i) {
    if (prescan.counts[i] == 0) continue;
    json.raw(first ? "\"" : ",\"").raw(name_of(static_cast<EventKind>(i))).raw("\":");
    json.number(prescan.counts[i]);
    first = false;
  }
  json.raw("}");
}

void write_losses(HeaderMembers& members, const Prescan& prescan) {
  BufferedWriter& json = members.key("dropped");
  json.raw("{");
  bool first = true;
  for (const auto& [reason, loss] : prescan.losses) {
    json.reserve(512);
    json.raw(first ? "\"" : ",\"").raw(loss_name(static_cast<model::LossReason>(reason)));
    json.raw("\":{\"in this window\":").number(loss.in_window);
    json.raw(",\"since the start\":").number(loss.total).raw("}");
    first = false;
  }
  json.reserve(64);
  json.raw("}");
}

void write_clock(HeaderMembers& members, const Prescan::Clock& clock) {
  BufferedWriter& json = members.key("clock");
  json.raw("{\"line\":\"CLOCK_MONOTONIC\",\"pairs\":").number(clock.pairs);
  json.raw(",\"worst_gap_ns\":").number(clock.worst_gap_ns);
  json.raw(",\"realtime_drift_ns\":");
  json.signed_number(clock.last_offset_ns - clock.first_offset_ns).raw("}");
}

void write_threads(HeaderMembers& members, const Prescan& prescan) {
  BufferedWriter& json = members.key("threads");
  json.raw("[");
  bool first = true;
  for (const auto& [tid, thread] : prescan.threads) {
    if (!thread.sampled) continue;
    json.reserve(256);
    json.raw(first ? "\n    {\"tid\":" : ",\n    {\"tid\":").number(tid);
    json.raw(",\"running_samples\":").number(thread.on_cpu_samples);
    json.raw(",\"blocked_samples\":").number(thread.off_cpu_samples);
    json.raw(",\"sampled_cpu_ns\":").number(thread.sampled_cpu_ns).raw("}");
    first = false;
  }
  json.raw("]");
}

template <typename List, typename Text>
void write_list(BufferedWriter& json, const List& list, const Text& text) {
  json.raw("[");
  bool first = true;
  for (const auto& item : list) {
    json.text(first ? "\n    " : ",\n    ").string(text(item)).reserve(64);
    first = false;
  }
  json.raw("]");
}

void write_gpuprof_section(JsonTraceState& t, const FileContext& context) {
  const Prescan& prescan = t.prescan;
  t.json.text("\"gpuprof\":{");
  HeaderMembers members(t.json);
  members.add("version", context.version).add("host", context.host).add("pid", prescan.pid);
  members.add("ppid", prescan.ppid).add("program", prescan.exe);
  members.add("command", prescan.command_line);
  if (!context.session.empty()) members.add("session", context.session);
  if (is_simulated(prescan)) members.key("simulated").raw("true");
  write_window_info(members, prescan.window);
  write_counts(members, prescan);
  write_losses(members, prescan);
  write_threads(members, prescan);
  write_list(members.key("missing"), context.missing, [](const std::string& s) { return s; });
  write_list(members.key("notices"), prescan.notices, [](const auto& n) { return n.text; });
  write_list(members.key("remarks"), context.remarks, [](const auto& r) { return r.second; });
  write_clock(members, prescan.clock);
  BufferedWriter& json = members.key("facts");
  json.raw("{");
  HeaderMembers facts(json);
  for (const auto& [key, value] : prescan.facts) facts.add(key, value);
  json.text("}},\n");
}

}  // namespace

void write_header(JsonTraceState& t, const FileContext& context) {
  BufferedWriter& json = t.json;
  const model::Window& window = t.prescan.window;
  json.text("{\"schemaVersion\":1,\n");
  write_rank(t);
  json.text("\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":").reserve(256);
  json.number(window.stamp_real_ns - (window.start_ns - t.base_ns));
  json.raw(",\n\"traceName\":").string(context.worker).text(",\n\"host_name\":");
  json.string(context.host).text(",\n");
  // Here as well as in our own part: whoever reads figures meets it first.
  if (is_simulated(t.prescan)) json.text("\"simulated\":true,\n");
  write_devices(t);
  write_gpuprof_section(t, context);
  json.text("\"traceEvents\":[\n");
}

}  // namespace gpuprof::exporter
