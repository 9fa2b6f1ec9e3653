// SPDX-License-Identifier: Apache-2.0
//
// Fields of an event; work in flight.
//
// Context:  daemon (export thread) | cli
#include <algorithm>

#include "analysis/export/perfetto/perfetto_events.hpp"

namespace gpuprof::exporter {

using Text = PerfettoPacketWriter::InternedType;

TrackEventBuilder& TrackEventBuilder::begin(std::string_view category, std::string_view name) {
  event_.Clear();
  event_.add_category_iids(packets_.intern(Text::kCategory, category));
  event_.set_name_iid(packets_.intern(Text::kName, name));
  return *this;
}

perfetto::DebugAnnotation& TrackEventBuilder::add(std::string_view key) {
  perfetto::DebugAnnotation& one = *event_.add_debug_annotations();
  one.set_name_iid(packets_.intern(Text::kKey, key));
  return one;
}

TrackEventBuilder& TrackEventBuilder::number(std::string_view key, std::uint64_t value) {
  add(key).set_uint_value(value);
  return *this;
}

TrackEventBuilder& TrackEventBuilder::signed_number(std::string_view key, std::int64_t value) {
  add(key).set_int_value(value);
  return *this;
}

TrackEventBuilder& TrackEventBuilder::real(std::string_view key, double value) {
  add(key).set_double_value(value);
  return *this;
}

TrackEventBuilder& TrackEventBuilder::text(std::string_view key, std::string_view value) {
  add(key).set_string_value_iid(packets_.intern(Text::kValue, value));
  return *this;
}

TrackEventBuilder& TrackEventBuilder::place(const symbols::DisplayFrame& frame) {
  if (frame.file.empty()) return *this;
  event_.set_source_location_iid(packets_.intern_source_location(
      frame.file, frame.name, static_cast<std::uint32_t>(std::max(frame.line, 0))));
  return *this;
}

TrackEventBuilder& TrackEventBuilder::flow(std::uint64_t id) {
  event_.add_flow_ids(id);
  return *this;
}

std::string_view TrackEventBuilder::bytes() {
  scratch_.clear();
  event_.AppendToString(&scratch_);
  return scratch_;
}

void InFlightCounter::add(std::uint64_t start_ns, std::uint64_t end_ns, const OnValue& tell) {
  pending_.push({start_ns, 1});
  pending_.push({std::max(start_ns, end_ns), -1});
  while (pending_.size() > kMaxAhead) pop(tell);
}

/// All changes of one instant, told once.
void InFlightCounter::pop(const OnValue& tell) {
  const std::uint64_t ns = pending_.top().ns;
  for (; !pending_.empty() && pending_.top().ns == ns; pending_.pop())
    running_ += pending_.top().by;
  emitted_ns_ = std::max(emitted_ns_, ns);
  tell(emitted_ns_, std::max<std::int64_t>(running_, 0));
}

void InFlightCounter::finish(const OnValue& tell) {
  while (!pending_.empty()) pop(tell);
}

}  // namespace gpuprof::exporter
