// SPDX-License-Identifier: Apache-2.0
//
// The tracks of a Perfetto trace: named at their first use, slices of each in order.
//
// Context:  daemon (export thread) | cli
// Owns:     the slices that wait for their order (nested_slices.hpp)
// Promises: slices of one track nest; what crosses lies on tracks of the same name beside it
// Not here: what is on them (perfetto_host.cpp, perfetto_gpu.cpp)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>

#include "analysis/export/perfetto/nested_slices.hpp"
#include "analysis/export/perfetto/perfetto_packet_writer.hpp"
#include "analysis/export/prescan/prescan.hpp"

namespace gpuprof::exporter {

class PerfettoTracks {
 public:
  enum class TrackType : std::uint8_t {
    kThread,      // of a thread: operators, ranges and calls
    kSteps,       // … steps
    kModules,     // … calls of nn.Modules
    kNonNesting,  // … what does not nest
    kSamples,     // … sampled frames
    kOverhead,    // … of CUPTI
    kStream,      // of a device and stream
    kWaits,       // of a device and stream: the host waits for it
    kNotes,       // of the process: what gpuprof says of the trace
    kAllocated,   // of a device: counters
    kReserved,
    kInFlight
  };
  /// What a row is about.
  struct TrackKey {
    TrackType row;
    std::uint32_t owner = 0;  // thread or device
    std::int64_t stream = 0;
    auto operator<=>(const TrackKey&) const = default;
  };

  /// @param base Above all track numbers: those of other files may stand in the same trace.
  PerfettoTracks(PerfettoPacketWriter& packets, const Prescan& prescan, std::uint64_t base);
  ~PerfettoTracks();

  /// Adds a slice. @param closes As of NestedSlices::add().
  void slice(const TrackKey& key, std::uint64_t start_ns, std::uint64_t end_ns,
             std::string_view body, bool closes);
  /// The track of a row, for what needs no order.
  std::uint64_t uuid(const TrackKey& key);
  /// Hands over what waits, of all tracks.
  void flush();

 private:
  class Track;

  Track& get(const TrackKey& key);
  std::uint64_t write_descriptor(const TrackKey& key, bool overlapping);
  std::uint64_t device(std::uint32_t index);
  void process();
  std::string thread_name(std::uint32_t tid) const;
  std::string stream_name(const TrackKey& key) const;
  std::uint64_t next() { return base_ + ++last_; }

  PerfettoPacketWriter& packets_;
  const Prescan& prescan_;
  const std::uint64_t base_;
  std::uint64_t last_ = 0;
  const std::uint64_t process_;
  std::map<TrackKey, std::unique_ptr<Track>> tracks_;
  std::map<std::uint32_t, std::uint64_t> devices_;
  Track* recent_ = nullptr;  // events come in runs
  TrackKey recent_key_{};
};

}  // namespace gpuprof::exporter
