// SPDX-License-Identifier: Apache-2.0
//
// Names and order of the rows a viewer shows.
//
// Context:  daemon (export thread) | cli
#include <fmt/format.h>

#include <set>

#include "analysis/export/prescan/read_window.hpp"
#include "analysis/export/tensorboard/tensorboard_sections.hpp"

namespace gpuprof::exporter {
namespace {

/// Devices come after every host process, as the viewers' own traces have it.
constexpr std::uint64_t kDeviceOrder = 5'000'000;

class TrackMetadataWriter {
 public:
  explicit TrackMetadataWriter(JsonTraceState& t) : t_(t) {}

  void text(std::string_view what, std::int64_t pid, std::int64_t tid, std::string_view key,
            std::string_view value) {
    begin(what, pid, tid, key).string(value).text("}}");
  }
  void number(std::string_view what, std::int64_t pid, std::int64_t tid, std::uint64_t value) {
    begin(what, pid, tid, "sort_index").number(value).raw("}}");
  }

 private:
  BufferedWriter& begin(std::string_view what, std::int64_t pid, std::int64_t tid,
                        std::string_view key) {
    BufferedWriter& json = t_.json;
    json.reserve(512);
    json.raw(first_ ? "{\"ph\":\"M\",\"name\":\"" : ",\n{\"ph\":\"M\",\"name\":\"").raw(what);
    json.raw("\",\"ts\":");
    t_.time(0).raw(",\"pid\":").signed_number(pid).raw(",\"tid\":").signed_number(tid);
    json.raw(",\"args\":{\"").raw(key).raw("\":");
    first_ = false;
    return json;
  }

  JsonTraceState& t_;
  bool first_ = true;
};

std::string program_name(const Prescan& prescan) {
  const std::size_t slash = prescan.exe.rfind('/');
  const std::string name = slash == std::string::npos ? prescan.exe : prescan.exe.substr(slash + 1);
  return name.empty() ? fmt::format("process {}", prescan.pid) : name;
}

std::string thread_label(std::uint32_t tid, const Prescan::Thread& thread, bool main) {
  return fmt::format("{} {}{}", thread.name.empty() ? "thread" : thread.name, tid,
                     main ? " (main)" : "");
}

void host_rows(JsonTraceState& t, TrackMetadataWriter& rows) {
  const Prescan& prescan = t.prescan;
  const auto pid = static_cast<std::int64_t>(t.host_pid);
  std::uint64_t order = 0;
  for (const auto& [tid, thread] : prescan.threads) {
    const bool main = tid == prescan.pid;
    const std::string label = thread_label(tid, thread, main);
    // The main thread leads; each thread's samples follow it.
    const std::uint64_t at = main ? 0 : ++order * 2;
    if (thread.has_events || main) {
      rows.text("thread_name", pid, tid, "name", label);
      rows.number("thread_sort_index", pid, tid, at);
    }
    if (thread.sampled) {
      const auto row = static_cast<std::int64_t>(kSampleTidOffset + tid);
      rows.text("thread_name", pid, row, "name", label + " (samples)");
      rows.number("thread_sort_index", pid, row, at + 1);
    }
  }
}

void device_rows(JsonTraceState& t, TrackMetadataWriter& rows) {
  const Prescan& prescan = t.prescan;
  const char* simulated = is_simulated(prescan) ? " (simulated)" : "";
  std::set<std::uint32_t> named;
  std::set<std::pair<std::uint32_t, std::int64_t>> null_streams;
  for (const auto& [id, context] : prescan.contexts)
    null_streams.emplace(context.device, context.null_stream);
  for (const auto& [device, stream] : prescan.gpu_tracks) {
    if (device >= kMaxDevicePids) continue;
    if (named.insert(device).second) {
      rows.text("process_name", device, 0, "name", program_name(prescan));
      rows.text("process_labels", device, 0, "labels", fmt::format("GPU {}{}", device, simulated));
      rows.number("process_sort_index", device, 0, kDeviceOrder + device);
    }
    const bool null = null_streams.contains({device, stream});
    rows.text("thread_name", device, stream, "name",
              fmt::format("stream {}{}", stream, null ? " (default)" : ""));
    rows.number("thread_sort_index", device, stream, static_cast<std::uint64_t>(stream));
  }
}

void sync_rows(JsonTraceState& t, TrackMetadataWriter& rows) {
  for (const auto& [device, row] : t.prescan.sync_tracks) {
    if (device >= kMaxDevicePids) continue;
    rows.text("thread_name", device, row, "name",
              row < 0 ? "waits for the device"
                      : fmt::format("waits for stream {}", row - kSyncTrackOffset));
  }
}

}  // namespace

void write_track_metadata(JsonTraceState& t) {
  TrackMetadataWriter rows(t);
  const auto pid = static_cast<std::int64_t>(t.host_pid);
  rows.text("process_name", pid, 0, "name", program_name(t.prescan));
  rows.text("process_labels", pid, 0, "labels", "CPU");
  rows.number("process_sort_index", pid, 0, t.host_pid);
  host_rows(t, rows);
  device_rows(t, rows);
  sync_rows(t, rows);
  if (t.prescan.count(EventKind::kOverhead) != 0)
    rows.text("process_name", -1, 0, "name", "CUPTI overhead");
}

}  // namespace gpuprof::exporter
