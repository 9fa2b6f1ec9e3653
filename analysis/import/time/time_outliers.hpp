// SPDX-License-Identifier: Apache-2.0
//
// Which times of a file belong together, and which are damage: zero where all others are of today,
// years away, of a length that no recording has.
//
// Context:  cli through analysis/commands
// Owns:     counts of stretches of time; a fixed number of them
// Promises: what is set aside is counted in the import statistics; the rest is as if it had not
//           been there
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "support/result.hpp"

namespace gpuprof::importer {

struct FileContent;

/// Where the begins of a file's records lie.
class TimeHistogram {
 public:
  /// Begins that lie together: no recording pauses for longer.
  static constexpr std::int64_t kMaxGapNs = 86'400'000'000'000;

  void add(std::int64_t start_ns, std::int64_t end_ns) {
    latest_end_ns_ = end_ns > latest_end_ns_ ? end_ns : latest_end_ns_;
    if (start_ns == 0) {
      ++zeros_;
      return;
    }
    if (last_ == nullptr || start_ns >> shift_ != last_key_) find(start_ns);
    Bucket& to = *last_;
    to.first_ns = start_ns < to.first_ns ? start_ns : to.first_ns;
    to.last_ns = start_ns > to.last_ns ? start_ns : to.last_ns;
    to.changes += start_ns != to.latest_ns ? 1 : 0;
    to.latest_ns = start_ns;
  }

  struct Bounds {
    std::int64_t from_ns = 0, to_ns = 0;  // of begins that belong
    bool zero = false;                    // so does what begins at 0
    bool holds(std::int64_t start_ns, std::int64_t end_ns) const {
      const bool in_time = start_ns == 0 ? zero : start_ns >= from_ns && start_ns <= to_ns;
      return in_time && end_ns - to_ns <= kMaxGapNs;
    }
  };
  /// Of what belongs together; none where all does.
  std::optional<Bounds> bounds() const;

 private:
  /// A power of two of nanoseconds, about 18 minutes at first.
  struct Bucket {
    std::int64_t first_ns, last_ns, latest_ns;
    /// Begins unlike the one before: a number that stands for "not known" is one, however frequent.
    std::uint64_t changes = 0;
  };
  static constexpr std::size_t kMaxBuckets = 4096;

  void find(std::int64_t start_ns);
  void coarsen();

  std::map<std::int64_t, Bucket> stretches_;  // by begin >> shift_
  int shift_ = 40;
  std::int64_t last_key_ = 0;
  Bucket* last_ = nullptr;
  std::uint64_t zeros_ = 0;
  std::int64_t latest_end_ns_ = INT64_MIN;
};

/// Takes out of the file's records those whose times do not belong to the rest, and counts them.
///
/// @param folder  where records are sorted
/// @return  a sentence's part that says which times belong; empty: all do
/// Errors: no room, or records that cannot be read back.
support::Result<std::string> drop_time_outliers(FileContent& content, const std::string& folder);

}  // namespace gpuprof::importer
