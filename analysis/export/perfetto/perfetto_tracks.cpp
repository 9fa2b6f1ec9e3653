// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of tracks, and rows beside them for what crosses.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/perfetto/perfetto_tracks.hpp"

#include <fmt/format.h>

#include "analysis/export/prescan/read_window.hpp"

namespace gpuprof::exporter {
namespace {

using perfetto::TrackDescriptor;
using perfetto::TrackEvent;
using TrackType = PerfettoTracks::TrackType;

constexpr std::string_view name_of(TrackType row) {
  switch (row) {
    case TrackType::kSteps:
      return "steps";
    case TrackType::kModules:
      return "modules";
    case TrackType::kNonNesting:
      return "spans";
    case TrackType::kSamples:
      return "samples";
    case TrackType::kOverhead:
      return "CUPTI overhead";
    default:
      return "gpuprof";
  }
}

/// Children of a thread and of a device, from top to bottom.
constexpr std::int32_t rank_of_row(TrackType row) { return static_cast<std::int32_t>(row); }

bool is_device_row(TrackType row) { return row == TrackType::kStream || row == TrackType::kWaits; }
bool is_counter(TrackType row) { return row >= TrackType::kAllocated; }

}  // namespace

class PerfettoTracks::Track final : NestedSlices::Sink {
 public:
  Track(PerfettoTracks& all, const TrackKey& key, std::uint64_t own)
      : uuid(own),
        all_(all),
        key_(key),
        slices_(key.row == TrackType::kModules ? NestedSlices::TieOrder::kLaterIsInner
                                               : NestedSlices::TieOrder::kLaterIsOuter) {}

  void add(std::uint64_t start_ns, std::uint64_t end_ns, std::string_view body, bool closes) {
    if (key_.row == TrackType::kNonNesting) return overlapping(start_ns, end_ns, body);
    slices_.add(start_ns, end_ns, body, closes, *this);
  }
  void flush() { slices_.flush(*this); }

  const std::uint64_t uuid;

 private:
  void begin(std::uint64_t ns, std::string_view body) override {
    all_.packets_.event(ns, TrackEvent::TYPE_SLICE_BEGIN, uuid, body);
  }
  void end(std::uint64_t ns) override {
    all_.packets_.event(ns, TrackEvent::TYPE_SLICE_END, uuid, {});
  }
  void overlapping(std::uint64_t start_ns, std::uint64_t end_ns, std::string_view body) override {
    const std::size_t track = places_.assign_track(start_ns, end_ns);
    if (track == overlap_tracks_.size())
      overlap_tracks_.push_back(key_.row == TrackType::kNonNesting && track == 0
                                    ? uuid
                                    : all_.write_descriptor(key_, true));
    all_.packets_.event(start_ns, TrackEvent::TYPE_SLICE_BEGIN, overlap_tracks_[track], body);
    all_.packets_.event(end_ns, TrackEvent::TYPE_SLICE_END, overlap_tracks_[track], {});
  }

  PerfettoTracks& all_;
  const TrackKey key_;
  NestedSlices slices_;
  OverlapTracks places_;
  std::vector<std::uint64_t> overlap_tracks_;
};

PerfettoTracks::PerfettoTracks(PerfettoPacketWriter& packets, const Prescan& prescan,
                               std::uint64_t base)
    : packets_(packets), prescan_(prescan), base_(base), process_(next()) {
  process();
}

PerfettoTracks::~PerfettoTracks() = default;

void PerfettoTracks::process() {
  TrackDescriptor track;
  track.set_uuid(process_);
  track.set_child_ordering(TrackDescriptor::EXPLICIT);
  perfetto::ProcessDescriptor& process = *track.mutable_process();
  process.set_pid(static_cast<std::int32_t>(prescan_.pid));
  const std::size_t slash = prescan_.exe.rfind('/');
  const std::string name =
      slash == std::string::npos ? prescan_.exe : prescan_.exe.substr(slash + 1);
  process.set_process_name(encode_text(
      TextEncoding::kUtf8, name.empty() ? fmt::format("process {}", prescan_.pid) : name, 4096));
  if (!prescan_.command_line.empty())
    process.add_cmdline(encode_text(TextEncoding::kUtf8, prescan_.command_line, 4096));
  if (is_simulated(prescan_)) process.add_process_labels("simulated GPU");
  packets_.write_track_descriptor(track);
}

std::string PerfettoTracks::thread_name(std::uint32_t tid) const {
  const auto found = prescan_.threads.find(tid);
  const bool named = found != prescan_.threads.end() && !found->second.name.empty();
  return named ? encode_text(TextEncoding::kUtf8, found->second.name, 256) : "thread";
}

std::string PerfettoTracks::stream_name(const TrackKey& key) const {
  if (key.row == TrackType::kWaits)
    return key.stream < 0 ? "waits for the device"
                          : fmt::format("waits for stream {}", key.stream - kSyncTrackOffset);
  for (const auto& [id, context] : prescan_.contexts)
    if (context.device == key.owner && context.null_stream == key.stream)
      return fmt::format("stream {} (default)", key.stream);
  return fmt::format("stream {}", key.stream);
}

std::uint64_t PerfettoTracks::device(std::uint32_t index) {
  const auto [found, fresh] = devices_.try_emplace(index, 0);
  if (!fresh) return found->second;
  const auto known = prescan_.devices.find(index);
  TrackDescriptor track;
  track.set_uuid(found->second = next());
  track.set_parent_uuid(process_);
  track.set_child_ordering(TrackDescriptor::EXPLICIT);
  track.set_sibling_order_rank(static_cast<std::int32_t>(index % 1000));
  std::string name = fmt::format("GPU {}{}", index, is_simulated(prescan_) ? " (simulated)" : "");
  if (known != prescan_.devices.end()) {
    name += ": ";
    name += prescan_.names.text(known->second.name);
  }
  track.set_name(name);
  packets_.write_track_descriptor(track);
  return found->second;
}

std::uint64_t PerfettoTracks::write_descriptor(const TrackKey& key, bool overlapping) {
  TrackDescriptor track;
  track.set_sibling_order_rank(rank_of_row(key.row));
  if (is_counter(key.row)) {
    // The host's memory belongs to the process itself.
    const bool host = key.owner == model::kNoObject;
    track.set_parent_uuid(host ? process_ : device(key.owner));
    const std::string where = host ? "host" : fmt::format("GPU {}", key.owner);
    const bool bytes = key.row != TrackType::kInFlight;
    track.set_name(key.row == TrackType::kAllocated  ? "memory allocated, " + where
                   : key.row == TrackType::kReserved ? "memory reserved, " + where
                                                     : "work in flight, " + where);
    track.mutable_counter()->set_unit(bytes ? perfetto::CounterDescriptor::UNIT_SIZE_BYTES
                                            : perfetto::CounterDescriptor::UNIT_COUNT);
  } else if (is_device_row(key.row)) {
    track.set_parent_uuid(device(key.owner));
    track.set_name(stream_name(key));
  } else if (key.row == TrackType::kNotes) {
    track.set_parent_uuid(process_);
    track.set_name(std::string(name_of(key.row)));
  } else if (key.row == TrackType::kThread && !overlapping) {
    track.set_parent_uuid(process_);
    track.set_child_ordering(TrackDescriptor::EXPLICIT);
    track.mutable_thread()->set_pid(static_cast<std::int32_t>(prescan_.pid));
    track.mutable_thread()->set_tid(static_cast<std::int32_t>(key.owner));
    track.mutable_thread()->set_thread_name(thread_name(key.owner));
  } else {
    track.set_parent_uuid(uuid({TrackType::kThread, key.owner}));
    track.set_name(std::string(key.row == TrackType::kThread ? "crossing" : name_of(key.row)));
  }
  const std::uint64_t own = next();
  track.set_uuid(own);
  packets_.write_track_descriptor(track);
  return own;
}

PerfettoTracks::Track& PerfettoTracks::get(const TrackKey& key) {
  if (recent_ != nullptr && recent_key_ == key) return *recent_;
  auto found = tracks_.find(key);
  if (found == tracks_.end()) {
    const std::uint64_t own = write_descriptor(key, false);
    found = tracks_.emplace(key, std::make_unique<Track>(*this, key, own)).first;
  }
  recent_key_ = key;
  recent_ = found->second.get();
  return *recent_;
}

std::uint64_t PerfettoTracks::uuid(const TrackKey& key) { return get(key).uuid; }

void PerfettoTracks::slice(const TrackKey& key, std::uint64_t start_ns, std::uint64_t end_ns,
                           std::string_view body, bool closes) {
  get(key).add(start_ns, end_ns, body, closes);
}

void PerfettoTracks::flush() {
  // Tracks of their own for what crosses may be described meanwhile, but none is added.
  for (auto& [key, track] : tracks_) track->flush();
}

}  // namespace gpuprof::exporter
