// SPDX-License-Identifier: Apache-2.0
//
// A hash table of numbers for one lookup an event.
//
// Context:  daemon (export thread) | cli
// Owns:     its slots: no allocation a key
// Promises: a key that was never set is `missing`; key 0 is not stored
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuprof::exporter {

class FlatHashMap {
 public:
  static constexpr std::uint32_t kMissing = ~0u;

  /// The slot of a key; a new one holds kMissing. Valid until the next call.
  std::uint32_t& operator[](std::uint64_t key) {
    if ((used_ + 1) * 3 > slots_.size() * 2) grow();
    Slot& slot = slots_[find(key)];
    if (slot.key == 0) {
      slot.key = key;
      ++used_;
    }
    return slot.value;
  }
  std::uint32_t get(std::uint64_t key) const {
    if (key == 0 || slots_.empty()) return kMissing;
    const Slot& slot = slots_[find(key)];
    return slot.key == key ? slot.value : kMissing;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kMissing;
  };

  std::size_t find(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key * 0x9e3779b97f4a7c15ULL >> 20) & mask;
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != 0) slots_[find(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace gpuprof::exporter
