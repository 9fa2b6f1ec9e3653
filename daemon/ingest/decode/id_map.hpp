// SPDX-License-Identifier: Apache-2.0
//
// Hash table from the target's 64-bit ids to small numbers: the ingest's most frequent look-up.
//
// Context:  daemon (ingest thread)
// Owns:     its table
// Promises: at most half full, 16 bytes a slot; a peer that picks its ids cannot make look-ups
//           slow on purpose (the hash is salted)
#pragma once

#include <cstdint>
#include <vector>

#include "gpuprof/base/bytes.hpp"

namespace gpuprof::ingest {

/// Open addressing, linear probing, no erase. Value 0 means "absent".
class IdMap {
 public:
  explicit IdMap(std::uint64_t salt) : salt_(salt), slots_(1024) {}

  std::uint32_t find(std::uint64_t key) const { return slots_[slot_of(key)].value; }

  /// `value` must not be 0. Replaces what was there.
  void put(std::uint64_t key, std::uint32_t value) {
    Slot& slot = slots_[slot_of(key)];
    if (slot.value == 0 && ++count_ * 2 > slots_.size()) {
      grow();
      slots_[slot_of(key)] = Slot{key, value};
      return;
    }
    slot = Slot{key, value};
  }

  std::size_t size() const { return count_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = 0;
  };

  std::size_t slot_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = base::mix64(key ^ salt_) & mask;
    while (slots_[at].value != 0 && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.value != 0) slots_[slot_of(slot.key)] = slot;
  }

  std::uint64_t salt_;
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace gpuprof::ingest
