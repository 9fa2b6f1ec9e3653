// SPDX-License-Identifier: Apache-2.0
//
// Planes and lines of an XPlane file: collected, then sorted, nested and written.
//
// Context:  daemon (export thread) | cli
// Owns:     the events of one process in one window, at most kMaxEvents of them: a line is sorted,
//           and its length stands before it, so it cannot be written as it comes
// Promises: lines are sorted and nest strictly; what crosses another event gets a further line
// Not here: what events become (xplane_host.cpp, xplane_gpu.cpp)
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/export/encoding/buffered_writer.hpp"
#include "analysis/export/labels/name_table.hpp"
#include "analysis/export/xplane/xplane.pb.h"

namespace gpuprof::exporter {

/// Id of a name in one plane, from 1.
using XplaneId = std::uint32_t;

/// The line of a plane's counters.
inline constexpr std::int64_t kCounterLine = 0x50000000;

/// Stats of one event, encoded one by one.
class XplaneStats {
 public:
  void clear() { used_ = 0; }
  XplaneStats& number(XplaneId key, std::uint64_t value);  // uint64_value
  XplaneStats& integer(XplaneId key, std::int64_t value);  // int64_value
  XplaneStats& floating(XplaneId key, double value);
  XplaneStats& ref(XplaneId key, XplaneId text);
  std::string_view bytes() const { return {reinterpret_cast<const char*>(bytes_.data()), used_}; }

 private:
  static constexpr std::size_t kMaxStats = 14;  // of an event
  static constexpr std::size_t kMaxStatBytes = 24;

  std::uint8_t* begin() { return scratch_.data(); }
  void end(const std::uint8_t* at);

  std::array<std::uint8_t, kMaxStatBytes> scratch_;
  std::array<std::uint8_t, kMaxStats * kMaxStatBytes> bytes_;
  std::size_t used_ = 0;
};

struct XplaneEvent {
  enum class Kind : std::uint8_t {
    kPlain,
    kHasOp,   // extra: its tf_op
    kMemory,  // extra: a tf_op made from that of the operator around it
    kLaunch,  // extra: device plus 1
  };
  std::uint64_t start_ns, end_ns;
  std::uint64_t owner = 0;      // operator or range whose tf_op it takes
  const char* stats = nullptr;  // encoded, in the plane's arena
  XplaneId name = 0;
  std::uint32_t order = 0;  // of two equal intervals the higher one is the outer
  std::uint32_t extra = 0;
  std::uint32_t correlation = 0;
  std::uint32_t step = 0;  // id of the step it belongs to, where nothing around it does
  std::uint16_t stats_bytes = 0;
  Kind kind = Kind::kPlain;
};

/// display_id orders rows; the next kMaxOverflowLines are those of its further lines.
struct XplaneLine {
  std::int64_t id = 0, display_id = 0;
  std::string name;
  std::vector<XplaneEvent> events;
};

class XplanePlane {
 public:
  static constexpr std::uint64_t kMaxEvents = 4'000'000;
  static constexpr std::size_t kMaxTextBytes = 64u << 20;
  /// Further lines for what crosses, each with an id of its own.
  static constexpr std::size_t kMaxOverflowLines = 32;

  XplanePlane(std::int64_t id, std::string_view name);

  XplaneId event(std::string_view name, std::string_view shown = {});
  /// Of a key, or of a text that stats refer to.
  XplaneId stat(std::string_view name) { return intern(stats_, name, {}); }
  std::string_view event_name(XplaneId id) const { return events_.texts[id - 1].name; }
  std::string_view stat_name(XplaneId id) const { return stats_.texts[id - 1].name; }
  /// Facts of the plane itself.
  void add_stat(std::string_view name, std::uint64_t value);
  void add_stat(std::string_view name, std::string_view value);

  /// Stays where it is.
  XplaneLine& line(std::int64_t id, std::int64_t display_id, std::string name);
  /// An event of `line`; its stats are copied.
  XplaneEvent& add(XplaneLine& line, std::uint64_t start_ns, std::uint64_t end_ns, XplaneId name,
                   std::string_view stats = {});

  std::deque<XplaneLine>& lines() { return lines_; }
  /// Gets each event of a line and those around it, outermost first.
  using Visit = std::function<void(XplaneEvent& event, std::span<const XplaneEvent* const> around)>;
  /// Sorts `line` and moves what crosses to further lines; events for which there was no line are
  /// dropped, and their number is returned.
  std::uint64_t sort_and_nest(XplaneLine& line, const Visit& visit);

  /// Encodes the plane as a field of the file; times from `base_ns` on.
  void write(std::uint64_t base_ns, BufferedWriter& out) const;
  std::uint64_t events() const;

 private:
  struct Text {
    std::string_view name, shown;
  };
  struct Table {
    std::unordered_map<std::string_view, XplaneId> ids;
    std::vector<Text> texts;
  };
  struct Encoded;
  XplaneId intern(Table& table, std::string_view name, std::string_view shown);
  std::vector<XplaneEvent> extract_nested(XplaneLine& line, const Visit& visit);
  void encode(const XplaneEvent& event, std::uint64_t base_ns, Encoded& out) const;
  std::string tables() const;
  static std::string head_of(const XplaneLine& line);

  xplane::XPlane facts_;  // id, name and stats
  Table events_, stats_;
  StringArena arena_, texts_;
  std::deque<XplaneLine> lines_;
  XplaneId tf_op_, ct_, c_, device_id_;
};

}  // namespace gpuprof::exporter
