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
std::string no_room(const std::string& folder, int failure);

class Sorter {
 public:
  /// Records held before they are sorted into the file.
  static constexpr std::size_t kPart = 1u << 17;

  explicit Sorter(std::string folder) : folder_(std::move(folder)) {}

  void add(const Record& record) {
    part_.push_back(record);
    part_.back().sequence = sequence_++;
    if (part_.size() >= kPart) spill();
  }
  /// A number for a record that comes later, by add_reserved().
  std::uint32_t reserve() { return sequence_++; }
  void add_reserved(const Record& record) {
    part_.push_back(record);
    if (part_.size() >= kPart) spill();
  }
  /// One of another sorter, with its number there.
  void add_numbered(const Record& record) {
    part_.push_back(record);
    ++sequence_;
    if (part_.size() >= kPart) spill();
  }
  /// Puts what is held into the file, too: other files come before this one is read.
  void park() {
    if (!part_.empty()) spill();
    part_ = {};
  }
  std::uint64_t size() const { return sequence_; }
  /// As if nothing had been added.
  void forget() {
    part_.clear();
    runs_.clear();
    written_ = 0;
    sequence_ = 0;
  }

  /// Begins reading; again only after park(). Errors: the file could not be written.
  support::Result<void> rewind();
  /// The next record in order; null at the end. Valid until the next call.
  const Record* next();
  /// Where next() gave null early: the file could not be read back.
  const std::string& failure() const { return failure_; }

 private:
  struct Run {
    std::uint64_t at = 0, left = 0;  // records in the file
    std::uint64_t from = 0, count = 0;
    std::vector<Record> held;
    std::size_t used = 0;
  };
  void spill();
  void sort_part();
  bool fill(Run& run);
  bool open();

  std::string folder_;
  std::vector<Record> part_;
  base::UniqueFd fd_;
  std::vector<Run> runs_;
  std::vector<std::size_t> heap_;  // of runs, by their first record
  std::uint64_t written_ = 0;
  std::uint32_t sequence_ = 0;
  std::string failure_;
  Record current_;
};

}  // namespace gpuprof::importer
