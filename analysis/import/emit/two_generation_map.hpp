// SPDX-License-Identifier: Apache-2.0
//
// A bounded map of the latest values by process and number.
//
// Context:  cli through analysis/commands
// Owns:     two tables, each of which grows up to a bound
// Promises: a number among the last `most` that were put is found, however far apart they are
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gpuprof::importer {

template <typename Value>
class TwoGenerationMap {
 public:
  explicit TwoGenerationMap(std::size_t most) : most_(most) {}

  /// One that is there already has the new value.
  void put(std::uint16_t process, std::uint64_t key, const Value& value) {
    if (young_.count == most_) {
      // Two generations: what is forgotten is older than the whole of one.
      std::swap(young_, old_);
      young_.clear();
    }
    young_.put(process, key, value);
  }

  /// Null: it was not put, or so many came behind it. Until the next put().
  const Value* find(std::uint16_t process, std::uint64_t key) const {
    const Value* const found = young_.find(process, key);
    return found != nullptr ? found : old_.find(process, key);
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Value value{};
    std::uint16_t process = 0;
    bool used = false;
  };

  struct Table {
    std::vector<Slot> slots;  // a power of two, at most half of them used
    std::size_t count = 0;

    void clear() {
      slots.assign(slots.size(), Slot{});
      count = 0;
    }
    std::size_t place_of(std::uint16_t process, std::uint64_t key) const {
      const std::uint64_t mixed = (key ^ std::uint64_t{process} << 48) * 0x9e3779b97f4a7c15ULL;
      std::size_t at = mixed >> (64 - std::countr_zero(slots.size()));
      while (slots[at].used && (slots[at].key != key || slots[at].process != process))
        at = (at + 1) & (slots.size() - 1);
      return at;
    }
    const Value* find(std::uint16_t process, std::uint64_t key) const {
      if (count == 0) return nullptr;
      const Slot& slot = slots[place_of(process, key)];
      return slot.used ? &slot.value : nullptr;
    }
    void grow() {
      constexpr std::size_t kMinSlots = 64;
      const std::vector<Slot> before = std::move(slots);
      slots.assign(before.empty() ? kMinSlots : 2 * before.size(), Slot{});
      for (const Slot& slot : before)
        if (slot.used) slots[place_of(slot.process, slot.key)] = slot;
    }
    void put(std::uint16_t process, std::uint64_t key, const Value& value) {
      if (2 * (count + 1) > slots.size()) grow();
      Slot& slot = slots[place_of(process, key)];
      count += slot.used ? 0 : 1;
      slot = {key, value, process, true};
    }
  };

  std::size_t most_;
  Table young_, old_;
};

}  // namespace gpuprof::importer
