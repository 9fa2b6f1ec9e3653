// SPDX-License-Identifier: Apache-2.0
//
// What became of every event of a file, and what was mended in its text.
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
enum class Reason : std::uint8_t {
  kUnknownKind,  // its category or phase means nothing here
  kNoTime,       // without a time or length that can be read, or beyond 63 bits of nanoseconds
  kFarTime,      // at a time that does not belong to the rest
  kOutside,      // at a time outside the window that gpuprof's own file states
  kHalf,         // a begin without its end, or the reverse
  kDisorder,     // of a row that is read in the file's order: earlier than what stands before it
  kNoDetails,    // without what an event of its kind must have
  kNoWork,       // an instant, a level or a figure of a device: there is no table of these
  kNoEvent,      // a value among the events that is none
  kCount
};

/// What was read in place of what stands there.
enum class Mending : std::uint8_t {
  kBackslash,       // alone in a text
  kQuote,           // in a text, without a backslash
  kDecimalComma,    // in a number
  kNoNumber,        // inf, nan and the like where a number should stand
  kMissingValue,    // nothing where a value should stand
  kComma,           // one too few or too many
  kSurrogate,       // half of a pair
  kNegativeLength,  // taken as 0
  kNulByte,         // in the text, read as a blank
  kNoEnd,           // of the list of events
  kAbsurdBytes,     // of a copy or set: not known
  kCount
};

inline constexpr auto kReasons = [] {
  std::array<Reason, static_cast<std::size_t>(Reason::kCount)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Reason>(i);
  return all;
}();
inline constexpr auto kMendings = [] {
  std::array<Mending, static_cast<std::size_t>(Mending::kCount)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Mending>(i);
  return all;
}();

/// `at times that do not belong to the rest`.
std::string_view phrase_of(Reason reason);
/// `far-time`: of JSON.
std::string_view key_of(Reason reason);
std::string phrase_of(Mending mending, std::uint64_t count);
std::string_view key_of(Mending mending);

class Account {
 public:
  using Kinds = std::map<std::string, std::uint64_t, std::less<>>;

  void shown(std::uint64_t events = 1) { shown_ += events; }
  /// Drawn by viewers from what is here already.
  void repeats(std::string_view kind, std::uint64_t events = 1) { add(repeats_, kind, events); }
  void left_out(Reason reason, std::string_view kind, std::uint64_t events = 1) {
    add(left_out_[static_cast<std::size_t>(reason)], kind, events);
  }
  /// An event that was counted as shown turns out not to be.
  void withdraw(Reason reason, std::string_view kind, std::uint64_t events = 1) {
    events = std::min(events, shown_);
    shown_ -= events;
    if (events != 0) left_out(reason, kind, events);
  }
  void mended(Mending mending, std::uint64_t places = 1) {
    mended_[static_cast<std::size_t>(mending)] += places;
  }

  std::uint64_t shown() const { return shown_; }
  const Kinds& repeats() const { return repeats_; }
  const Kinds& left_out(Reason reason) const { return left_out_[static_cast<std::size_t>(reason)]; }
  std::uint64_t mended(Mending mending) const { return mended_[static_cast<std::size_t>(mending)]; }
  /// Sum of one of the above.
  static std::uint64_t sum(const Kinds& kinds);
  std::uint64_t all_left_out() const;
  std::uint64_t events() const { return shown_ + sum(repeats_) + all_left_out(); }

 private:
  static void add(Kinds& kinds, std::string_view kind, std::uint64_t events);

  std::uint64_t shown_ = 0;
  Kinds repeats_;
  std::array<Kinds, static_cast<std::size_t>(Reason::kCount)> left_out_;
  std::array<std::uint64_t, static_cast<std::size_t>(Mending::kCount)> mended_{};
};

/// What of a file is not shown, reason by reason, and what was mended; empty: nothing.
///
/// @param far_times  which times were set aside, as set_times_aside() tells
std::vector<std::string> sentences_of(const std::string& path, const Account& account,
                                      const std::string& far_times);

/// Why nothing of a trace can be shown; behind its name.
std::string nothing_in(const Account& account);

/// JSON of folders that is something else, in one sentence.
///
/// @param beside_traces  there are some: names will do, without their folder
std::string no_traces_text(const std::vector<std::pair<std::string, std::string>>& files,
                           bool beside_traces);

/// `990 of 'kernel', 10 of 'gpu_memcpy'`: the most frequent first.
std::string listed_kinds(const Account::Kinds& kinds);

}  // namespace gpuprof::importer
