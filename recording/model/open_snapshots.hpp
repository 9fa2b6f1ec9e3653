// SPDX-License-Identifier: Apache-2.0
//
// Ranges and operators that were open when a window was cut: which snapshot of each is written.
//
// Context:  daemon (export thread) | cli
// Owns:     the newest copy of what has not ended as far as the spool tells
// Promises: each range and operator is drawn once: as it ended, else as its newest copy; nothing
//           that is not known to have ended ends inside a window
#pragma once

#include <unordered_map>

#include "recording/model/events.hpp"

namespace gpuprof::exporter {

class OpenSnapshots {
 public:
  /// First pass. True: a copy, which is looked at again when all events have come.
  bool add_snapshot(const model::Range& e) { return add_snapshot(e, ranges_); }
  bool add_snapshot(const model::Operator& e) { return add_snapshot(e, operators_); }
  template <typename Take>
  void for_each(Take&& take) const {
    for (const auto& [id, e] : ranges_) take(e);
    for (const auto& [id, e] : operators_) take(e);
  }
  /// The snapshot says how long it was open at least, and no end has been recorded since.
  template <typename E>
  static bool is_still_open(const E& e) {
    constexpr std::uint32_t kBoth = model::kRangeOpenSnapshot | model::kRangeEndUnknown;
    return (e.flags & kBoth) == model::kRangeOpenSnapshot;
  }
  /// One of the newest copies does.
  bool any_still_open() const {
    bool any = false;
    for_each([&](const auto& e) { any = any || is_still_open(e); });
    return any;
  }

  /// Later passes, in which the spool may have more than in the first: what was looked at then is
  /// what is drawn. True: another one is drawn in its place.
  bool is_superseded(const model::Range& e) const { return is_superseded(e, ranges_); }
  bool is_superseded(const model::Operator& e) const { return is_superseded(e, operators_); }

 private:
  /// A window has as many as are open at its end; a spool that claims more is damaged.
  static constexpr std::size_t kMaxOpen = 100'000;
  template <typename E>
  using Newest = std::unordered_map<model::RangeId, E>;

  template <typename E>
  static bool add_snapshot(const E& e, Newest<E>& newest) {
    if ((e.flags & model::kRangeOpenSnapshot) == 0) {
      if (!newest.empty()) newest.erase(e.id);
      return false;
    }
    if (newest.size() < kMaxOpen || newest.contains(e.id)) newest.insert_or_assign(e.id, e);
    return true;
  }
  template <typename E>
  static bool is_superseded(const E& e, const Newest<E>& newest) {
    const bool copy = (e.flags & model::kRangeOpenSnapshot) != 0;
    if (!copy && newest.empty()) return false;
    const auto at = newest.find(e.id);
    if (at == newest.end()) return copy;
    return !copy || at->second.end_ns != e.end_ns;
  }

  Newest<model::Range> ranges_;
  Newest<model::Operator> operators_;
};

}  // namespace gpuprof::exporter
