// SPDX-License-Identifier: Apache-2.0
//
// Walks the JSON text of a trace: members of its head one by one, then event by event.
//
// Context:  cli through analysis/commands
// Owns:     the text of the event at hand and what was read ahead of it
// Promises: memory is bounded by the longest event or member, and those by kMaxValueBytes; depth
//           is bounded; what known writers damaged is repaired and counted where one reading is
//           certain (json_repair.hpp); else the error says where, what is wrong and who wrote it
// Not here: reading and unpacking (text_source.hpp), what events mean (classify.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/import/json/raw_event.hpp"
#include "analysis/import/json/text_source.hpp"
#include "analysis/import/store/import_stats.hpp"
#include "support/result.hpp"

namespace gpuprof::importer {

/// Longest event, and longest member of the head.
inline constexpr std::size_t kMaxValueBytes = 64u << 20;
/// Arrays and objects inside each other.
inline constexpr int kMaxDepth = 64;

class TraceListener {
 public:
  virtual ~TraceListener() = default;
  /// A member of the trace's object other than its events, whole, as JSON text.
  virtual support::Result<void> on_member(std::string_view key, std::string_view json) = 0;
  virtual void on_event(const RawEvent& event) = 0;
  /// A value among the events that is no object.
  virtual void on_other_value() = 0;
  virtual void on_repaired(RepairKind mending, std::uint64_t places) = 0;
  /// Called now and then.
  virtual void on_progress() = 0;
};

/// Reads the object form `{"traceEvents":[…],…}` or the array form `[…]`.
///
/// @param found  in a folder, not named by a person: what is damaged before any event is no trace
/// @return  empty, or what the file is in place of a trace: `is JSON but not a trace: …`
support::Result<std::string> read_trace(TextSource& source, const std::string& path, bool found,
                                        TraceListener& listener);

}  // namespace gpuprof::importer
