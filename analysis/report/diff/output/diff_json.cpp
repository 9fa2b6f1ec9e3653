// SPDX-License-Identifier: Apache-2.0
//
// A Diff as JSON.
//
// Context:  cli
#include <cmath>

#include "analysis/report/diff/data/metrics.hpp"
#include "analysis/report/diff/output/diff_text.hpp"
#include "support/text/json.hpp"

namespace gpuprof::report::diff {
namespace {

using support::JsonWriter;

void write(JsonWriter& json, const StepProfile& profile) {
  json.begin_object();
  json.member("named", profile.given_name)
      .member("host", profile.host)
      .member("command", profile.command);
  json.member("pid", std::uint64_t{profile.pid}).member("rank", profile.rank);
  json.member("world_size", std::uint64_t{profile.world_size})
      .member("simulated", profile.simulated);
  json.member("steps", std::uint64_t{profile.steps});
  json.member("warm_up_steps",
              std::uint64_t{std::min(profile.steps, profile.warm_up * profile.steps_per_cell)});
  json.member("recorded_ns", profile.recorded_ns).member("gpus", profile.gpus);
  json.member("missing", profile.missing).end_object();
}

template <typename One>
void write_claimed(JsonWriter& json, const One& one) {
  json.member("significant", one.significant).member("seen_once", one.is_unconfirmed);
  if (one.confirming_pairs != 0) json.member("shown_by", std::uint64_t{one.confirming_pairs});
}

void write(JsonWriter& json, std::string_view key, const Change& change) {
  if (!change.measured) return;
  json.key(key).begin_object();
  json.member("before", change.before).member("after", change.after);
  json.member("before_spread", change.before_spread).member("after_spread", change.after_spread);
  json.member("share_before", change.share_before).member("share_after", change.share_after);
  json.member("relative", change.relative).member("adjusted", change.adjusted);
  json.member("limit", change.threshold).member("p", change.p_value);
  json.member("apart", change.is_separated);
  write_claimed(json, change);
  json.end_object();
}

void write(JsonWriter& json, const NameDiff& row) {
  constexpr std::string_view kPresence[] = {"both", "gone", "new"};
  json.begin_object();
  json.member("name", row.name).member("kind", name_of(row.kind));
  json.member("presence", kPresence[static_cast<std::size_t>(row.presence)]);
  write_claimed(json, row);
  json.member("calls_before", row.calls_before).member("calls_after", row.calls_after);
  json.member("calls_changed", row.calls_changed);
  write(json, "self_ns", row.self);
  write(json, "total_ns", row.total);
  write(json, "device_ns", row.device);
  if (!row.inner_calls.empty()) json.member("inner_calls", row.inner_calls);
  if (!row.shapes_before.empty())
    json.member("shapes_before", row.shapes_before).member("shapes_after", row.shapes_after);
  json.end_object();
}

void write(JsonWriter& json, std::string_view key, const CommonShift& common) {
  if (!common.known) return;
  json.key(key).begin_object().member("factor", common.factor);
  json.member("names", std::uint64_t{common.names})
      .member("limit", common.detectable_change)
      .end_object();
}

void write(JsonWriter& json, std::string_view key, const DeviceMemoryProfile& memory) {
  json.key(key).begin_object();
  json.member("peak_allocated_bytes", memory.peak_allocated_bytes);
  json.member("peak_reserved_bytes", memory.peak_reserved_bytes);
  json.member("allocations", memory.allocations);
  json.member("allocated_bytes", memory.allocated_bytes).end_object();
}

void write(JsonWriter& json, const ProcessDiff& process) {
  json.begin_object().key("before");
  write(json, process.before);
  json.key("after");
  write(json, process.after);
  json.member("times_are_of", process.by_step ? "step" : "call");
  json.member("enough_steps", process.enough_steps);
  json.member("any_significant", process.any_significant());
  write(json, "common_host", process.host);
  write(json, "common_gpu", process.gpu);
  json.key("metrics").begin_object();
  for (const MetricDiff& row : process.metrics) write(json, row.name, row.change);
  json.end_object().key("names").begin_array();
  for (const NameDiff& row : process.names) write(json, row);
  json.end_array().key("memory").begin_array();
  for (const MemoryDiff& row : process.memory) {
    json.begin_object().member("device", std::int64_t{row.device});
    write_claimed(json, row);
    write(json, "before", row.before);
    write(json, "after", row.after);
    json.end_object();
  }
  std::vector<std::string> remarks = process.caveats;
  remarks.insert(remarks.end(), process.notes.begin(), process.notes.end());
  json.end_array().member("remarks", remarks).end_object();
}

void write_pair(JsonWriter& json, const Diff& pair) {
  json.begin_object().member("before", pair.before).member("after", pair.after);
  if (!pair.before_reading.files.empty())
    write_import_summary(json.key("before_reading"), pair.before_reading);
  if (!pair.after_reading.files.empty())
    write_import_summary(json.key("after_reading"), pair.after_reading);
  json.end_object();
}

}  // namespace

std::string diff_json(const Diff& diff) {
  JsonWriter json;
  json.begin_object().member("before", diff.before).member("after", diff.after);
  json.member("simulated", diff.simulated);
  json.member("min_change", diff.limits.change).member("min_share", diff.limits.share);
  json.key("pairs").begin_array();
  write_pair(json, diff);
  for (const Diff& other : diff.other_pairs) write_pair(json, other);
  json.end_array().key("processes").begin_array();
  for (const ProcessDiff& process : diff.processes) write(json, process);
  json.end_array().member("remarks", diff.notes).end_object();
  return json.text() + "\n";
}

}  // namespace gpuprof::report::diff
