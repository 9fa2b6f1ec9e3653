// SPDX-License-Identifier: Apache-2.0
//
// What became of every event of a file, and what was repaired in its text.
//
// Context:  cli through analysis/commands
// Owns:     counts; of so many kinds as are bounded
// Promises: the events of a file are those shown, those that repeat what is shown, and those left
//           out; none is in two of these
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuprof::importer {

/// Why an event is not in the session.
enum class SkipReason : std::uint8_t {
  kUnknownKind,    // its category or phase means nothing here
  kNoTime,         // without a time or length that can be read, or beyond 63 bits of nanoseconds
  kTimeOutlier,    // at a time that does not belong to the rest
  kOutsideWindow,  // at a time outside the window that gpuprof's own file states
  kUnpaired,       // a begin without its end, or the reverse
  kOutOfOrder,     // of a row that is read in the file's order: earlier than what stands before it
  kMissingArgs,    // without what an event of its kind must have
  kUnsupportedInstant,  // an instant, a level or a figure of a device: there is no table of these
  kNotAnObject,         // a value among the events that is none
  kCount
};

/// What was read in place of what stands there.
enum class RepairKind : std::uint8_t {
  kBackslash,          // alone in a text
  kQuote,              // in a text, without a backslash
  kDecimalComma,       // in a number
  kNotANumber,         // inf, nan and the like where a number should stand
  kMissingValue,       // nothing where a value should stand
  kComma,              // one too few or too many
  kSurrogate,          // half of a pair
  kNegativeLength,     // taken as 0
  kNulByte,            // in the text, read as a blank
  kUnterminatedArray,  // of the list of events
  kImplausibleBytes,   // of a copy or set: not known
  kCount
};

inline constexpr auto kSkipReasons = [] {
  std::array<SkipReason, static_cast<std::size_t>(SkipReason::kCount)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<SkipReason>(i);
  return all;
}();
inline constexpr auto kRepairKinds = [] {
  std::array<RepairKind, static_cast<std::size_t>(RepairKind::kCount)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<RepairKind>(i);
  return all;
}();

/// `time far from the rest`.
std::string_view phrase_of(SkipReason reason);
/// `far-time`: of JSON.
std::string_view key_of(SkipReason reason);
std::string phrase_of(RepairKind mending, std::uint64_t count);
std::string_view key_of(RepairKind mending);

class ImportStats {
 public:
  using Kinds = std::map<std::string, std::uint64_t, std::less<>>;

  void count_imported(std::uint64_t events = 1) { imported_ += events; }
  /// Drawn by viewers from what is here already.
  void count_duplicates(std::string_view kind, std::uint64_t events = 1) {
    add(duplicates_, kind, events);
  }
  void count_skipped(SkipReason reason, std::string_view kind, std::uint64_t events = 1) {
    add(skipped_[static_cast<std::size_t>(reason)], kind, events);
  }
  /// An event that was counted as imported turns out not to be.
  void move_to_skipped(SkipReason reason, std::string_view kind, std::uint64_t events = 1) {
    events = std::min(events, imported_);
    imported_ -= events;
    if (events != 0) count_skipped(reason, kind, events);
  }
  void count_repairs(RepairKind mending, std::uint64_t places = 1) {
    repairs_[static_cast<std::size_t>(mending)] += places;
  }

  std::uint64_t count_imported() const { return imported_; }
  const Kinds& count_duplicates() const { return duplicates_; }
  const Kinds& count_skipped(SkipReason reason) const {
    return skipped_[static_cast<std::size_t>(reason)];
  }
  std::uint64_t count_repairs(RepairKind mending) const {
    return repairs_[static_cast<std::size_t>(mending)];
  }
  /// Sum of one of the above.
  static std::uint64_t sum(const Kinds& kinds);
  std::uint64_t total_skipped() const;
  std::uint64_t events() const { return imported_ + sum(duplicates_) + total_skipped(); }

 private:
  static void add(Kinds& kinds, std::string_view kind, std::uint64_t events);

  std::uint64_t imported_ = 0;
  Kinds duplicates_;
  std::array<Kinds, static_cast<std::size_t>(SkipReason::kCount)> skipped_;
  std::array<std::uint64_t, static_cast<std::size_t>(RepairKind::kCount)> repairs_{};
};

/// What of a file is not shown, reason by reason, and what was repaired; empty: nothing.
///
/// @param far_times  which times were set aside, as drop_time_outliers() tells
std::vector<std::string> import_messages(const std::string& path, const ImportStats& account,
                                         const std::string& far_times);

/// Why nothing of a trace can be shown; behind its name.
std::string empty_trace_message(const ImportStats& account);

/// JSON of folders that is something else, in one sentence.
///
/// @param beside_traces  there are some: names will do, without their folder
std::string not_traces_message(const std::vector<std::pair<std::string, std::string>>& files,
                               bool beside_traces);

/// `990 of 'kernel', 10 of 'gpu_memcpy'`: the most frequent first.
std::string format_categories(const ImportStats::Kinds& kinds);

}  // namespace gpuprof::importer
