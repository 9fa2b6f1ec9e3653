// SPDX-License-Identifier: Apache-2.0
//
// Fields of an event; work in flight.
//
// Context:  daemon (export thread) | cli
#include <algorithm>

#include "analysis/export/perfetto/perfetto_events.hpp"

namespace gpuprof::exporter {

using Text = PerfettoPackets::Text;

PerfettoBody& PerfettoBody::begin(std::string_view category, std::string_view name) {
  event_.Clear();
  event_.add_category_iids(packets_.id(Text::kCategory, category));
  event_.set_name_iid(packets_.id(Text::kName, name));
  return *this;
}

perfetto::DebugAnnotation& PerfettoBody::add(std::string_view key) {
  perfetto::DebugAnnotation& one = *event_.add_debug_annotations();
  one.set_name_iid(packets_.id(Text::kKey, key));
  return one;
}

PerfettoBody& PerfettoBody::number(std::string_view key, std::uint64_t value) {
  add(key).set_uint_value(value);
  return *this;
}

PerfettoBody& PerfettoBody::signed_number(std::string_view key, std::int64_t value) {
  add(key).set_int_value(value);
  return *this;
}

PerfettoBody& PerfettoBody::real(std::string_view key, double value) {
  add(key).set_double_value(value);
  return *this;
}

PerfettoBody& PerfettoBody::text(std::string_view key, std::string_view value) {
  add(key).set_string_value_iid(packets_.id(Text::kValue, value));
  return *this;
}

PerfettoBody& PerfettoBody::place(const symbols::DisplayFrame& frame) {
  if (frame.file.empty()) return *this;
  event_.set_source_location_iid(
      packets_.place(frame.file, frame.name, static_cast<std::uint32_t>(std::max(frame.line, 0))));
  return *this;
}

PerfettoBody& PerfettoBody::flow(std::uint64_t id) {
  event_.add_flow_ids(id);
  return *this;
}

std::string_view PerfettoBody::bytes() {
  scratch_.clear();
  event_.AppendToString(&scratch_);
  return scratch_;
}

void WorkInFlight::add(std::uint64_t start_ns, std::uint64_t end_ns, const Tell& tell) {
  ahead_.push({start_ns, 1});
  ahead_.push({std::max(start_ns, end_ns), -1});
  while (ahead_.size() > kMaxAhead) pop(tell);
}

/// All changes of one instant, told once.
void WorkInFlight::pop(const Tell& tell) {
  const std::uint64_t ns = ahead_.top().ns;
  for (; !ahead_.empty() && ahead_.top().ns == ns; ahead_.pop()) running_ += ahead_.top().by;
  told_ns_ = std::max(told_ns_, ns);
  tell(told_ns_, std::max<std::int64_t>(running_, 0));
}

void WorkInFlight::finish(const Tell& tell) {
  while (!ahead_.empty()) pop(tell);
}

}  // namespace gpuprof::exporter
