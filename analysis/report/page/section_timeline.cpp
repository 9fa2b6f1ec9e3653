// SPDX-License-Identifier: Apache-2.0
//
// The slices of the timeline, column by column.
//
// Context:  cli
#include "analysis/report/page/sections.hpp"

namespace gpuprof::report::page {
namespace {

template <typename Value>
void write_column(PageJson& json, std::string_view key, const Slice& slice, const Value& value) {
  json.key(key).array();
  for (const SliceEvent& event : slice.events) json.number(value(event));
  json.end_array();
}

void write_slice(PageJson& json, const Slice& slice) {
  json.object().key("title").text(slice.title).key("note").text(slice.note);
  json.key("length").number(slice.length_ns).key("tracks").array();
  for (const SliceTrack& track : slice.tracks)
    json.object().key("title").text(track.title).key("rows").number(track.rows).end_object();
  json.end_array();
  using E = SliceEvent;
  write_column(json, "track", slice, [](const E& e) { return e.track; });
  write_column(json, "row", slice, [](const E& e) { return e.row; });
  write_column(json, "start", slice, [](const E& e) { return e.start_ns; });
  write_column(json, "dur", slice, [](const E& e) { return e.length_ns; });
  write_column(json, "name", slice, [](const E& e) { return e.name; });
  write_column(json, "kind", slice, [](const E& e) { return static_cast<std::uint32_t>(e.kind); });
  write_column(json, "flow", slice, [](const E& e) { return e.flow; });
  write_column(json, "detail", slice, [](const E& e) { return e.detail; });
  json.end_object();
}

}  // namespace

void write_timeline(SectionContext& part, const PageTimeline* timeline) {
  static const PageTimeline none;
  if (timeline == nullptr) timeline = &none;
  PageJson& json = part.json;
  json.object().key("note").text(timeline->note).key("strings").texts(timeline->strings);
  json.key("slices").array();
  for (const Slice& slice : timeline->slices) write_slice(json, slice);
  json.end_array().end_object();
  if (!timeline->note.empty()) part.left_out.push_back(timeline->note);
}

}  // namespace gpuprof::report::page
