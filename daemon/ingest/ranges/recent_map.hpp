// SPDX-License-Identifier: Apache-2.0
//
// A map that forgets what has not been set for long.
//
// Context:  daemon (ingest thread)
// Owns:     its entries
// Promises: of the keys set last at least kMax are known, never more than twice as many
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

namespace gpuprof::ingest {

template <typename Key, typename Value, std::size_t kMax>
class RecentMap {
 public:
  void set(const Key& key, const Value& value) {
    if (newer_.size() >= kMax && !newer_.contains(key)) {
      older_ = std::move(newer_);
      newer_.clear();
    }
    newer_[key] = value;
  }

  /// Null: never set, or not for long.
  const Value* find(const Key& key) const {
    for (const auto* part : {&newer_, &older_})
      if (const auto at = part->find(key); at != part->end()) return &at->second;
    return nullptr;
  }

 private:
  std::unordered_map<Key, Value> newer_, older_;
};

}  // namespace gpuprof::ingest
