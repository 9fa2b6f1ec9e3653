// SPDX-License-Identifier: Apache-2.0
//
// Head, notes, events.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/perfetto/perfetto_writer.hpp"

#include "analysis/export/encoding/gzip_file.hpp"
#include "analysis/export/perfetto/perfetto_events.hpp"
#include "analysis/export/prescan/read_window.hpp"
#include "analysis/export/resolve/event_resolver.hpp"
#include "gpuprof/base/bytes.hpp"

namespace gpuprof::exporter {
namespace {

/// Tracks of one file: their numbers are as far apart as this from those of another.
constexpr unsigned kTrackBits = 20;

/// Tells files apart that are joined to one trace. Never 0.
std::uint32_t file_id(const FileRequest& request) {
  std::string text = request.worker + '\0' + std::to_string(request.window.stamp_real_ns);
  return static_cast<std::uint32_t>(base::hash_bytes(text.data(), text.size()) & 0x3fff'ffff) | 1u;
}

}  // namespace

support::Result<WrittenFile> write_perfetto(const FileRequest& request) {
  GPUPROF_TRY(shown, EventResolver::open(request));
  ForwardFlowSources forward;
  if (shown->prescan().count(EventKind::kOperator) != 0) {
    GPUPROF_CHECK(shown->replay(forward));
  } else {
    skip_pass(request);
  }

  GPUPROF_TRY(file, GzipFile::create(request.path, request.uncompressed));
  const std::uint32_t id = file_id(request);
  PerfettoPacketWriter packets(*file, id);
  const model::Window& window = request.window;
  packets.write_clock_snapshot(window.start_ns, window.stamp_real_ns);
  PerfettoTracks tracks(packets, shown->prescan(), std::uint64_t{id} << kTrackBits);
  PerfettoEvents events(*shown, packets, tracks, forward.ids, id);
  events.write_notes();
  GPUPROF_CHECK(shown->replay(events));
  events.finish();
  packets.finish();
  GPUPROF_TRY(bytes, file->finish());
  return shown->make_written_file("perfetto", bytes);
}

}  // namespace gpuprof::exporter
