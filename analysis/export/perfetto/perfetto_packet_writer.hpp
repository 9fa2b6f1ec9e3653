// SPDX-License-Identifier: Apache-2.0
//
// Packets of a Perfetto trace, one by one into the file's chunks; texts are written once.
//
// Context:  daemon (export thread) | cli
// Owns:     the texts written so far, at most kMaxTexts of kMaxTextBytes: then it begins anew
// Promises: one packet sequence; whatever a packet refers to stands before it in the file
// Not here: which tracks there are (perfetto_tracks.cpp), what events become (perfetto_host.cpp,
//           perfetto_gpu.cpp)
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/export/encoding/buffered_writer.hpp"
#include "analysis/export/perfetto/perfetto_trace.pb.h"

namespace gpuprof::exporter {

class PerfettoPacketWriter {
 public:
  using Event = perfetto::TrackEvent;
  enum class InternedType : std::uint8_t { kCategory, kName, kKey, kValue, kCount };
  static constexpr std::size_t kMaxTexts = 500'000;
  static constexpr std::size_t kMaxTextBytes = 64u << 20;

  /// @param sequence Of this file, not 0.
  PerfettoPacketWriter(GzipFile& file, std::uint32_t sequence) : out_(file), sequence_(sequence) {}

  /// The first packets: how times are meant.
  void write_clock_snapshot(std::uint64_t monotonic_ns, std::uint64_t real_ns);
  void write_track_descriptor(const perfetto::TrackDescriptor& descriptor);

  /// Number of a text; written at its first use.
  std::uint64_t intern(InternedType kind, std::string_view text);
  std::uint64_t intern_source_location(std::string_view file, std::string_view function,
                                       std::uint32_t line);
  /// More texts than are kept: hand over everything that refers to them, then
  /// clear_incremental_state().
  bool needs_state_clear() const { return texts_ >= kMaxTexts || text_bytes_ >= kMaxTextBytes; }
  void clear_incremental_state();

  /// @param body TrackEvent without type and track.
  void event(std::uint64_t ns, Event::Type type, std::uint64_t track, std::string_view body);
  void counter(std::uint64_t ns, std::uint64_t track, std::int64_t value);

  void finish() { out_.finish(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Table = std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>>;

  void begin_incremental_state();
  void packet(const perfetto::TracePacket& packet);
  void interned(const perfetto::InternedData& data);

  BufferedWriter out_;
  const std::uint32_t sequence_;
  std::array<Table, static_cast<std::size_t>(InternedType::kCount)> tables_;
  Table places_;
  std::size_t texts_ = 0, text_bytes_ = 0;
  std::string scratch_, place_key_;
};

}  // namespace gpuprof::exporter
