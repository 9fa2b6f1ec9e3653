// SPDX-License-Identifier: Apache-2.0
//
// Packets as bytes.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/perfetto/perfetto_packet_writer.hpp"

#include <google/protobuf/io/coded_stream.h>

namespace gpuprof::exporter {
namespace {

using google::protobuf::io::CodedOutputStream;
using perfetto::TracePacket;
using perfetto::TrackEvent;

/// Of the fields around an event's body: ten numbers of at most ten bytes with their tags.
constexpr std::size_t kHeadRoom = 128;
/// One text; a reader keeps each of them.
constexpr std::size_t kMaxText = 16u << 10;

constexpr std::uint32_t tag(std::uint32_t field, std::uint32_t wire) { return field << 3 | wire; }
constexpr std::uint32_t kVarint = 0, kBytes = 2;

std::string_view cut(std::string_view text) {
  if (text.size() <= kMaxText) return text;
  std::size_t bytes = kMaxText;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

class Bytes {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    at_ = CodedOutputStream::WriteVarint32ToArray(tag(field, kVarint), at_);
    at_ = CodedOutputStream::WriteVarint64ToArray(value, at_);
  }
  void length(std::uint32_t field, std::size_t bytes) {
    at_ = CodedOutputStream::WriteVarint32ToArray(tag(field, kBytes), at_);
    at_ = CodedOutputStream::WriteVarint64ToArray(bytes, at_);
  }
  std::string_view view() const {
    return {reinterpret_cast<const char*>(bytes_), static_cast<std::size_t>(at_ - bytes_)};
  }

 private:
  std::uint8_t bytes_[kHeadRoom];
  std::uint8_t* at_ = bytes_;
};

}  // namespace

void PerfettoPacketWriter::packet(const TracePacket& packet) {
  scratch_.clear();
  packet.AppendToString(&scratch_);
  Bytes head;
  head.length(perfetto::Trace::kPacketFieldNumber, scratch_.size());
  out_.reserve(kHeadRoom + scratch_.size());
  out_.raw(head.view()).raw(scratch_);
}

void PerfettoPacketWriter::begin_incremental_state() {
  TracePacket start;
  start.set_trusted_packet_sequence_id(sequence_);
  start.set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
  start.mutable_trace_packet_defaults()->set_timestamp_clock_id(perfetto::ClockSnapshot::MONOTONIC);
  packet(start);
}

void PerfettoPacketWriter::write_clock_snapshot(std::uint64_t monotonic_ns, std::uint64_t real_ns) {
  TracePacket start;
  start.set_trusted_packet_sequence_id(sequence_);
  start.set_first_packet_on_sequence(true);
  perfetto::ClockSnapshot& snapshot = *start.mutable_clock_snapshot();
  const auto add = [&](std::uint32_t clock, std::uint64_t ns) {
    perfetto::ClockSnapshot::Clock& one = *snapshot.add_clocks();
    one.set_clock_id(clock);
    one.set_timestamp(ns);
  };
  add(perfetto::ClockSnapshot::MONOTONIC, monotonic_ns);
  add(perfetto::ClockSnapshot::REALTIME, real_ns);
  snapshot.set_primary_trace_clock(perfetto::ClockSnapshot::MONOTONIC);
  packet(start);
  begin_incremental_state();
}

void PerfettoPacketWriter::write_track_descriptor(const perfetto::TrackDescriptor& descriptor) {
  TracePacket one;
  one.set_trusted_packet_sequence_id(sequence_);
  *one.mutable_track_descriptor() = descriptor;
  packet(one);
}

void PerfettoPacketWriter::interned(const perfetto::InternedData& data) {
  TracePacket one;
  one.set_trusted_packet_sequence_id(sequence_);
  one.set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  *one.mutable_interned_data() = data;
  packet(one);
}

std::uint64_t PerfettoPacketWriter::intern(InternedType kind, std::string_view text) {
  text = cut(text);
  Table& table = tables_[static_cast<std::size_t>(kind)];
  if (const auto found = table.find(text); found != table.end()) return found->second;
  const std::uint64_t id = table.size() + 1;
  table.emplace(text, id);
  ++texts_;
  text_bytes_ += text.size();
  perfetto::InternedData data;
  const auto name = [&](perfetto::InternedName* entry) {
    entry->set_iid(id);
    entry->set_name(text.data(), text.size());
  };
  if (kind == InternedType::kCategory) name(data.add_event_categories());
  if (kind == InternedType::kName) name(data.add_event_names());
  if (kind == InternedType::kKey) name(data.add_debug_annotation_names());
  if (kind == InternedType::kValue) {
    perfetto::InternedString* const entry = data.add_debug_annotation_string_values();
    entry->set_iid(id);
    entry->set_str(text.data(), text.size());
  }
  interned(data);
  return id;
}

std::uint64_t PerfettoPacketWriter::intern_source_location(std::string_view file,
                                                           std::string_view function,
                                                           std::uint32_t line) {
  place_key_.assign(file).append(1, '\0').append(function).append(1, '\0');
  place_key_ += std::to_string(line);
  if (const auto found = places_.find(place_key_); found != places_.end()) return found->second;
  const std::uint64_t id = places_.size() + 1;
  places_.emplace(place_key_, id);
  ++texts_;
  text_bytes_ += place_key_.size();
  perfetto::InternedData data;
  perfetto::SourceLocation* const entry = data.add_source_locations();
  entry->set_iid(id);
  entry->set_file_name(file.data(), file.size());
  entry->set_function_name(function.data(), function.size());
  entry->set_line_number(line);
  interned(data);
  return id;
}

void PerfettoPacketWriter::clear_incremental_state() {
  for (Table& table : tables_) table.clear();
  places_.clear();
  texts_ = text_bytes_ = 0;
  begin_incremental_state();
}

void PerfettoPacketWriter::event(std::uint64_t ns, Event::Type type, std::uint64_t track,
                                 std::string_view body) {
  Bytes event;
  event.number(TrackEvent::kTypeFieldNumber, type);
  event.number(TrackEvent::kTrackUuidFieldNumber, track);
  Bytes packet;
  packet.number(TracePacket::kTimestampFieldNumber, ns);
  packet.number(TracePacket::kTrustedPacketSequenceIdFieldNumber, sequence_);
  packet.number(TracePacket::kSequenceFlagsFieldNumber, TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  packet.length(TracePacket::kTrackEventFieldNumber, event.view().size() + body.size());
  Bytes head;
  head.length(perfetto::Trace::kPacketFieldNumber,
              packet.view().size() + event.view().size() + body.size());
  out_.reserve(3 * kHeadRoom + body.size());
  out_.raw(head.view()).raw(packet.view()).raw(event.view()).raw(body);
}

void PerfettoPacketWriter::counter(std::uint64_t ns, std::uint64_t track, std::int64_t value) {
  Bytes body;
  body.number(TrackEvent::kCounterValueFieldNumber, static_cast<std::uint64_t>(value));
  event(ns, TrackEvent::TYPE_COUNTER, track, body.view());
}

}  // namespace gpuprof::exporter
