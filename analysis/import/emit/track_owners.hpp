// SPDX-License-Identifier: Apache-2.0
//
// Which process of a file each of its rows belongs to, where it holds several ranks.
//
// Context:  cli through analysis/commands
// Owns:     votes of rows for processes; at most kMaxCalls launches of the first pass
// Promises: a key (correlation, flow or external id) is looked up within one process; where two
//           processes have it, the row decides, else the order in which they launched
// Not here: reading names of rows (pid_tracks.hpp)
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/import/classify/classify.hpp"

namespace gpuprof::importer {

class TrackOwners {
 public:
  static constexpr std::size_t kMaxCalls = 1u << 20;

  /// @param content Its host rows are the processes; with none, one is added for each label.
  explicit TrackOwners(FileContent& content);

  /// The row of the process that a host row belongs to: itself, or another; kNoProcess: nobody's.
  std::uint16_t host_of(std::uint16_t row) const { return hosts_of_[row]; }
  const std::vector<std::uint16_t>& hosts() const { return hosts_; }
  bool has_several() const { return hosts_.size() > 1; }
  /// A name says whose the row is.
  bool is_settled(std::uint16_t row) const { return settled_[row]; }
  /// Launches have to be compared before anything is written.
  bool needs_votes() const { return needs_votes_; }

  /// Of a first pass over the sorted records.
  void vote(const ParsedEvent& r);
  void count_votes();

  /// In which order to look for the launch of a GPU record: the most likely process first.
  std::span<const std::uint16_t> candidates(const ParsedEvent& r);
  /// Several processes may have launched what runs on this row.
  bool is_shared(std::uint16_t row) const { return row < shared_.size() && shared_[row]; }
  /// Number of this record among those of its row and correlation, by begin; and how many there
  /// are. Only of rows that are shared.
  struct Position {
    std::size_t at = 0, of = 0;
  };
  Position position_of(const ParsedEvent& r) const;

 private:
  struct Call {
    std::uint16_t host;
    std::int64_t start_ns;
  };

  void find_hosts();
  void assign_host(std::uint16_t row);
  void resolve_row(std::uint16_t row);
  std::uint16_t by_section(std::uint32_t sequence) const;
  std::vector<std::uint16_t> by_number(std::uint16_t row) const;

  FileContent& content_;
  std::vector<PidTrack>& rows_;
  std::vector<std::uint16_t> hosts_;
  std::vector<std::uint16_t> hosts_of_;  // by row
  std::vector<std::uint16_t> sections_;  // hosts in the file's order, where they do not mix
  bool needs_votes_ = false;
  std::vector<bool> settled_, shared_;                          // by row
  std::vector<std::vector<std::uint64_t>> votes_;               // by row, host
  std::unordered_map<std::uint32_t, std::vector<Call>> calls_;  // by correlation
  std::size_t calls_kept_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::int64_t>> starts_;  // by row, correlation
  std::vector<std::uint16_t> order_;                                     // of the last answer
};

}  // namespace gpuprof::importer
