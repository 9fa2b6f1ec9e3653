// SPDX-License-Identifier: Apache-2.0
//
// Sorting, nesting and encoding of planes.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/xplane/xplane_plane.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <bit>

#include "support/text/utf8.hpp"

namespace gpuprof::exporter {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

constexpr std::uint64_t kPsPerNs = 1000;
/// Readers count picoseconds in 63 bits; only damaged times are that far apart.
constexpr std::uint64_t kMaxNs = 1'000'000'000'000'000;
/// Of ids of further lines: above those of threads, streams and their layers.
constexpr std::int64_t kSpillId = 0x60000000;

constexpr std::uint32_t tag(int field, WireFormatLite::WireType type) {
  return static_cast<std::uint32_t>(field) << 3 | static_cast<std::uint32_t>(type);
}
std::uint8_t* put_varint(int field, std::uint64_t value, std::uint8_t* at) {
  at = CodedOutputStream::WriteVarint32ToArray(tag(field, WireFormatLite::WIRETYPE_VARINT), at);
  return CodedOutputStream::WriteVarint64ToArray(value, at);
}
std::uint8_t* put_length(int field, std::uint64_t bytes, std::uint8_t* at) {
  at = CodedOutputStream::WriteVarint32ToArray(
      tag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), at);
  return CodedOutputStream::WriteVarint64ToArray(bytes, at);
}
/// One stat of an event: key and a number or reference below 2^32; at most kShortStat bytes.
constexpr std::size_t kShortStat = 16;
std::uint8_t* put_stat(XplaneId key, int field, std::uint32_t value, std::uint8_t* at) {
  std::array<std::uint8_t, kShortStat> body;
  std::uint8_t* end = put_varint(xplane::XStat::kMetadataIdFieldNumber, key, body.data());
  end = put_varint(field, value, end);
  at = put_length(xplane::XEvent::kStatsFieldNumber, static_cast<std::uint64_t>(end - body.data()),
                  at);
  return std::copy(body.data(), end, at);
}

std::string_view text_of(const std::uint8_t* begin, const std::uint8_t* end) {
  return {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin)};
}

}  // namespace

void XplaneStats::end(const std::uint8_t* at) {
  const auto bytes = static_cast<std::size_t>(at - scratch_.data());
  // Room for kMaxStats of the longest; nobody sets more.
  if (used_ + bytes + 2 > bytes_.size()) return;
  std::uint8_t* to = put_length(xplane::XEvent::kStatsFieldNumber, bytes, bytes_.data() + used_);
  to = std::copy(scratch_.data(), scratch_.data() + bytes, to);
  used_ = static_cast<std::size_t>(to - bytes_.data());
}

XplaneStats& XplaneStats::number(XplaneId key, std::uint64_t value) {
  std::uint8_t* at = put_varint(xplane::XStat::kMetadataIdFieldNumber, key, begin());
  end(put_varint(xplane::XStat::kUint64ValueFieldNumber, value, at));
  return *this;
}
XplaneStats& XplaneStats::integer(XplaneId key, std::int64_t value) {
  std::uint8_t* at = put_varint(xplane::XStat::kMetadataIdFieldNumber, key, begin());
  end(put_varint(xplane::XStat::kInt64ValueFieldNumber, static_cast<std::uint64_t>(value), at));
  return *this;
}
XplaneStats& XplaneStats::floating(XplaneId key, double value) {
  std::uint8_t* at = put_varint(xplane::XStat::kMetadataIdFieldNumber, key, begin());
  at = CodedOutputStream::WriteVarint32ToArray(
      tag(xplane::XStat::kDoubleValueFieldNumber, WireFormatLite::WIRETYPE_FIXED64), at);
  end(CodedOutputStream::WriteLittleEndian64ToArray(std::bit_cast<std::uint64_t>(value), at));
  return *this;
}
XplaneStats& XplaneStats::ref(XplaneId key, XplaneId text) {
  std::uint8_t* at = put_varint(xplane::XStat::kMetadataIdFieldNumber, key, begin());
  end(put_varint(xplane::XStat::kRefValueFieldNumber, text, at));
  return *this;
}

XplanePlane::XplanePlane(std::int64_t id, std::string_view name)
    : tf_op_(stat("tf_op")), ct_(stat("_ct")), c_(stat("_c")), device_id_(stat("device_id")) {
  facts_.set_id(id);
  facts_.set_name(support::to_utf8(name));
}

XplaneId XplanePlane::event(std::string_view name, std::string_view shown) {
  return intern(events_, name, shown == name ? std::string_view() : shown);
}

XplaneId XplanePlane::intern(Table& table, std::string_view name, std::string_view shown) {
  if (const auto found = table.ids.find(name); found != table.ids.end()) return found->second;
  constexpr std::string_view kNoRoom = "(name left out)";
  if (texts_.bytes() + name.size() + shown.size() > kMaxTextBytes && name != kNoRoom)
    return intern(table, kNoRoom, {});
  const std::string_view kept = texts_.store(name);
  table.texts.push_back({kept, shown.empty() ? shown : texts_.store(shown)});
  const auto id = static_cast<XplaneId>(table.texts.size());
  table.ids.emplace(kept, id);
  return id;
}

void XplanePlane::add_stat(std::string_view name, std::uint64_t value) {
  xplane::XStat& stat_of = *facts_.add_stats();
  stat_of.set_metadata_id(stat(name));
  stat_of.set_uint64_value(value);
}
void XplanePlane::add_stat(std::string_view name, std::string_view value) {
  xplane::XStat& stat_of = *facts_.add_stats();
  stat_of.set_metadata_id(stat(name));
  stat_of.set_str_value(support::to_utf8(value));
}

XplaneLine& XplanePlane::line(std::int64_t id, std::int64_t display_id, std::string name) {
  lines_.push_back({id, display_id, std::move(name), {}});
  return lines_.back();
}

XplaneEvent& XplanePlane::add(XplaneLine& line, std::uint64_t start_ns, std::uint64_t end_ns,
                              XplaneId name, std::string_view stats) {
  XplaneEvent event;
  event.start_ns = start_ns;
  event.end_ns = std::max(start_ns, end_ns);
  event.name = name;
  event.order = static_cast<std::uint32_t>(line.events.size());
  if (!stats.empty()) {
    event.stats = arena_.store(stats).data();
    event.stats_bytes = static_cast<std::uint16_t>(stats.size());
  }
  line.events.push_back(event);
  return line.events.back();
}

std::uint64_t XplanePlane::events() const {
  std::uint64_t sum = 0;
  for (const XplaneLine& line : lines_) sum += line.events.size();
  return sum;
}

/// Leaves what nests; returns what crosses, sorted.
std::vector<XplaneEvent> XplanePlane::extract_nested(XplaneLine& line, const Visit& visit) {
  std::vector<XplaneEvent> crossing;
  std::vector<const XplaneEvent*> around;
  auto kept = line.events.begin();
  for (XplaneEvent& event : line.events) {
    while (!around.empty() && around.back()->end_ns <= event.start_ns) around.pop_back();
    if (!around.empty() && around.back()->end_ns < event.end_ns) {
      crossing.push_back(event);
      continue;
    }
    *kept = event;
    visit(*kept, around);
    around.push_back(&*kept++);
  }
  line.events.erase(kept, line.events.end());
  return crossing;
}

std::uint64_t XplanePlane::sort_and_nest(XplaneLine& line, const Visit& visit) {
  std::sort(line.events.begin(), line.events.end(), [](const XplaneEvent& a, const XplaneEvent& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.order > b.order;
  });
  std::vector<XplaneEvent> crossing = extract_nested(line, visit);
  const std::int64_t display_id = line.display_id;
  const std::string name = line.name;
  for (std::size_t i = 1; !crossing.empty() && i <= kMaxOverflowLines; ++i) {
    const auto place = static_cast<std::int64_t>(i);
    XplaneLine& more = this->line(kSpillId + static_cast<std::int64_t>(lines_.size()),
                                  display_id + place, fmt::format("{} ({})", name, i + 1));
    more.events = std::move(crossing);
    crossing = extract_nested(more, visit);
  }
  return crossing.size();
}

/// One event in three pieces: the middle one are its stats.
struct XplanePlane::Encoded {
  std::array<std::uint8_t, 40> head;
  std::array<std::uint8_t, 3 * (kShortStat + 2)> tail;
  std::size_t head_bytes, tail_bytes, bytes;
};

void XplanePlane::encode(const XplaneEvent& event, std::uint64_t base_ns, Encoded& out) const {
  using xplane::XStat;
  std::uint8_t* at =
      put_varint(xplane::XEvent::kMetadataIdFieldNumber, event.name, out.head.data());
  const std::uint64_t offset_ns = std::min(event.start_ns - base_ns, kMaxNs);
  at = put_varint(xplane::XEvent::kOffsetPsFieldNumber, offset_ns * kPsPerNs, at);
  if (event.end_ns != event.start_ns)
    at = put_varint(xplane::XEvent::kDurationPsFieldNumber,
                    std::min(event.end_ns - event.start_ns, kMaxNs) * kPsPerNs, at);
  out.head_bytes = static_cast<std::size_t>(at - out.head.data());
  at = out.tail.data();
  if (event.extra != 0) {
    if (event.kind == XplaneEvent::Kind::kLaunch)
      at = put_stat(device_id_, XStat::kUint64ValueFieldNumber, event.extra - 1, at);
    else
      at = put_stat(tf_op_, XStat::kRefValueFieldNumber, event.extra, at);
  }
  if (event.step != 0) {
    at = put_stat(ct_, XStat::kInt64ValueFieldNumber, 0, at);
    at = put_stat(c_, XStat::kUint64ValueFieldNumber, event.step, at);
  }
  out.tail_bytes = static_cast<std::size_t>(at - out.tail.data());
  out.bytes = out.head_bytes + event.stats_bytes + out.tail_bytes;
}

std::string XplanePlane::head_of(const XplaneLine& line) {
  xplane::XLine head;
  head.set_id(line.id);
  head.set_display_id(line.display_id);
  head.set_name(support::to_utf8(line.name));
  return head.SerializeAsString();
}

/// Everything of the plane but its lines.
std::string XplanePlane::tables() const {
  xplane::XPlane all = facts_;
  for (std::size_t i = 0; i < events_.texts.size(); ++i) {
    xplane::XEventMetadata& one = (*all.mutable_event_metadata())[static_cast<std::int64_t>(i) + 1];
    one.set_id(static_cast<std::int64_t>(i) + 1);
    one.set_name(support::to_utf8(events_.texts[i].name));
    one.set_display_name(support::to_utf8(events_.texts[i].shown));
  }
  for (std::size_t i = 0; i < stats_.texts.size(); ++i) {
    xplane::XStatMetadata& one = (*all.mutable_stat_metadata())[static_cast<std::int64_t>(i) + 1];
    one.set_id(static_cast<std::int64_t>(i) + 1);
    one.set_name(support::to_utf8(stats_.texts[i].name));
  }
  // The same file each time: protobuf writes tables in an order of their memory.
  std::string bytes;
  google::protobuf::io::StringOutputStream to(&bytes);
  CodedOutputStream coded(&to);
  coded.SetSerializationDeterministic(true);
  all.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

void XplanePlane::write(std::uint64_t base_ns, BufferedWriter& out) const {
  std::array<std::uint8_t, 16> length;
  const auto put_head = [&](int field, std::uint64_t bytes) {
    out.text(text_of(length.data(), put_length(field, bytes, length.data())));
  };
  const auto with_head = [&](std::uint64_t bytes) {
    return bytes + static_cast<std::uint64_t>(put_length(1, bytes, length.data()) - length.data());
  };
  const std::string texts = tables();
  std::vector<std::string> heads;
  std::vector<std::uint64_t> sizes;
  std::uint64_t bytes = texts.size();
  Encoded one;
  for (const XplaneLine& line : lines_) {
    if (line.events.empty()) continue;
    heads.push_back(head_of(line));
    std::uint64_t size = heads.back().size();
    for (const XplaneEvent& event : line.events) {
      encode(event, base_ns, one);
      size += with_head(one.bytes);
    }
    sizes.push_back(size);
    bytes += with_head(size);
  }
  put_head(xplane::XSpace::kPlanesFieldNumber, bytes);
  out.text(texts);
  std::size_t at = 0;
  for (const XplaneLine& line : lines_) {
    if (line.events.empty()) continue;
    put_head(xplane::XPlane::kLinesFieldNumber, sizes[at]);
    out.text(heads[at++]);
    for (const XplaneEvent& event : line.events) {
      encode(event, base_ns, one);
      put_head(xplane::XLine::kEventsFieldNumber, one.bytes);
      out.text(text_of(one.head.data(), one.head.data() + one.head_bytes));
      out.text({event.stats, event.stats_bytes});
      out.text(text_of(one.tail.data(), one.tail.data() + one.tail_bytes));
    }
  }
}

}  // namespace gpuprof::exporter
