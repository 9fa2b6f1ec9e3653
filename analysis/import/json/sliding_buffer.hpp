// SPDX-License-Identifier: Apache-2.0
//
// A window that slides over a file's text: as it was read, and a copy to parse in.
//
// Context:  cli through analysis/commands
// Owns:     what lies between the cursor and what was read
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "analysis/import/json/text_source.hpp"

namespace gpuprof::importer {

class SlidingBuffer {
 public:
  explicit SlidingBuffer(TextSource& source) : source_(source) { read_more(); }

  /// Reads on, behind what is there from the cursor. False at the end of the file.
  bool read_more() {
    const std::size_t left = pristine_.size() - at_;
    std::string added = source_.next();
    // A value longer than a block is parsed again only when twice as much of it is there.
    while (!added.empty() && added.size() < left) {
      std::string block = source_.next();
      if (block.empty()) break;
      added += block;
    }
    if (added.empty()) return false;
    passed_ += at_;
    if (left == 0) {
      pristine_ = std::move(added);
    } else {
      pristine_.erase(0, at_);
      pristine_ += added;
    }
    at_ = 0;
    work_.assign(pristine_.begin(), pristine_.end());
    work_.resize(work_.size() + kPadding);
    std::fill(work_.end() - kPadding, work_.end(), '\0');
    return true;
  }

  /// The next character that is no blank; 0 at the end of the file, and kOnlyBlanks, which no text
  /// holds, where it could be anywhere: a file with a hole may have any size.
  char peek() {
    for (const std::uint64_t from = offset(); offset() - from <= kMaxValueBytes;) {
      while (at_ < pristine_.size() && pristine_[at_] == ' ') ++at_;
      if (at_ < pristine_.size()) return pristine_[at_];
      if (!read_more()) return 0;
    }
    return kOnlyBlanks;
  }
  void skip(std::size_t bytes = 1) { at_ += bytes; }

  char* parse_copy() { return work_.data() + at_; }
  const char* original() const { return pristine_.data() + at_; }
  std::size_t left() const { return pristine_.size() - at_; }
  std::uint64_t offset() const { return passed_ + at_; }

 private:
  static constexpr char kOnlyBlanks = '\1';
  static constexpr std::ptrdiff_t kPadding = 64;

  TextSource& source_;
  std::string pristine_;
  std::vector<char> work_;
  std::size_t at_ = 0;
  std::uint64_t passed_ = 0;
};

}  // namespace gpuprof::importer
