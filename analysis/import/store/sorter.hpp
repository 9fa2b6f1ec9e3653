// SPDX-License-Identifier: Apache-2.0
//
// Records in the order of their begin, however many: sorted parts in a file, merged.
//
// Context:  cli through analysis/commands
// Owns:     the part being filled, and the file of the parts before it (unlinked at once)
// Promises: of records that begin together, outer ones come before inner ones; memory is fixed
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/import/store/parsed_event.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/result.hpp"

namespace gpuprof::importer {

/// Of the folder that the session is made in; `failure` is an errno.
std::string disk_full_message(const std::string& folder, int failure);

class Sorter {
 public:
  /// Records held before they are sorted into the file.
  static constexpr std::size_t kRunLength = 1u << 17;

  explicit Sorter(std::string folder) : folder_(std::move(folder)) {}

  void add(const ParsedEvent& record) {
    run_.push_back(record);
    run_.back().sequence = sequence_++;
    if (run_.size() >= kRunLength) spill();
  }
  /// A number for a record that comes later, by add_reserved().
  std::uint32_t reserve() { return sequence_++; }
  void add_reserved(const ParsedEvent& record) {
    run_.push_back(record);
    if (run_.size() >= kRunLength) spill();
  }
  /// One of another sorter, with its number there.
  void add_numbered(const ParsedEvent& record) {
    run_.push_back(record);
    ++sequence_;
    if (run_.size() >= kRunLength) spill();
  }
  /// Puts what is held into the file, too: other files come before this one is read.
  void spill_all() {
    if (!run_.empty()) spill();
    run_ = {};
  }
  std::uint64_t size() const { return sequence_; }
  /// As if nothing had been added.
  void clear() {
    run_.clear();
    runs_.clear();
    written_ = 0;
    sequence_ = 0;
  }

  /// Begins reading; again only after spill_all(). Errors: the file could not be written.
  support::Result<void> rewind();
  /// The next record in order; null at the end. Valid until the next call.
  const ParsedEvent* next();
  /// Where next() gave null early: the file could not be read back.
  const std::string& failure() const { return failure_; }

 private:
  struct SortedRun {
    std::uint64_t at = 0, left = 0;  // records in the file
    std::uint64_t from = 0, count = 0;
    std::vector<ParsedEvent> held;
    std::size_t used = 0;
  };
  void spill();
  void sort_part();
  bool fill(SortedRun& run);
  bool open();

  std::string folder_;
  std::vector<ParsedEvent> run_;
  base::UniqueFd fd_;
  std::vector<SortedRun> runs_;
  std::vector<std::size_t> heap_;  // of runs, by their first record
  std::uint64_t written_ = 0;
  std::uint32_t sequence_ = 0;
  std::string failure_;
  ParsedEvent current_;
};

}  // namespace gpuprof::importer
