// SPDX-License-Identifier: Apache-2.0
//
// Names as numbers, the same in every window of a process.
//
// Context:  cli
// Owns:     the texts
// Promises: 0 is the empty text; what text() returns lives as long as the table
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gpuprof::report {

using StringRef = std::uint32_t;

class StringPool {
 public:
  StringPool() { id(""); }
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;

  StringRef id(std::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    const auto number = static_cast<StringRef>(texts_.size());
    texts_.emplace_back(text);
    ids_.emplace(texts_.back(), number);
    return number;
  }
  const std::string& text(StringRef id) const { return texts_[id]; }

 private:
  std::deque<std::string> texts_;  // does not move what is in it
  std::unordered_map<std::string_view, StringRef> ids_;
};

}  // namespace gpuprof::report
