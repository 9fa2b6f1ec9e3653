// SPDX-License-Identifier: Apache-2.0
//
// A set of numbers that lie close together, one bit each.
//
// Context:  daemon (export thread) | cli
// Owns:     its pages: at most kMaxPages of 4 KiB; numbers beyond that are not kept
// Promises: 10 million neighbouring numbers take 1.2 MB
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace gpuprof::exporter {

class PagedBitset {
 public:
  static constexpr std::size_t kMaxPages = 4096;

  /// True if it was in the set before. A number that found no room stays outside.
  bool test_and_set(std::uint64_t number) {
    Page* page = find(number / kPageBits, true);
    if (page == nullptr) return false;
    std::uint64_t& word = (*page)[number % kPageBits / 64];
    const std::uint64_t bit = 1ULL << (number % 64);
    const bool before = (word & bit) != 0;
    word |= bit;
    count_ += before ? 0 : 1;
    return before;
  }
  bool test(std::uint64_t number) const {
    const Page* page = const_cast<PagedBitset*>(this)->find(number / kPageBits, false);
    return page != nullptr && ((*page)[number % kPageBits / 64] >> (number % 64) & 1) != 0;
  }
  std::uint64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// True once a number found no room: the set is then a lower bound.
  bool overflowed() const { return overflowed_; }

 private:
  static constexpr std::uint64_t kPageBits = 32768;
  using Page = std::array<std::uint64_t, kPageBits / 64>;

  Page* find(std::uint64_t index, bool make) {
    if (index == last_index_ && last_ != nullptr) return last_;
    const auto found = pages_.find(index);
    Page* page = found == pages_.end() ? nullptr : found->second.get();
    if (page == nullptr && make) {
      if (pages_.size() >= kMaxPages) {
        overflowed_ = true;
        return nullptr;
      }
      page = (pages_[index] = std::make_unique<Page>()).get();
    }
    if (page != nullptr) {
      last_ = page;
      last_index_ = index;
    }
    return page;
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  Page* last_ = nullptr;
  std::uint64_t last_index_ = 0;
  std::uint64_t count_ = 0;
  bool overflowed_ = false;
};

}  // namespace gpuprof::exporter
