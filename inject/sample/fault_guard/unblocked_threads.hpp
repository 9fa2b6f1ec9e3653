// SPDX-License-Identifier: Apache-2.0
//
// Which threads have let fault signals through at the moment (UnblockFaultSignals).
//
// Context:  signal | callback (take), boundary (the rest)
// Promises: no lock; a place that was left and taken again holds something else
#pragma once

#include <atomic>
#include <cstdint>

namespace gpuprof::sample {

class UnblockedThreads {
 public:
  using Place = std::atomic<std::uint64_t>;  // a turn and the thread's id; 0: free

  /// @return null: all are taken. Whoever leaves it stores 0.
  Place* claim(std::uint32_t tid) {
    const std::uint64_t turn = turns_.fetch_add(1, std::memory_order_relaxed) + std::uint64_t{1};
    for (std::uint32_t i = 0; i < kPlaces; ++i) {
      Place& place = places_[(tid + i) % kPlaces];
      std::uint64_t found = 0;
      if (place.compare_exchange_strong(found, turn << 32 | tid, std::memory_order_seq_cst))
        return &place;
    }
    return nullptr;
  }
  static std::uint32_t tid_of(std::uint64_t taken) { return static_cast<std::uint32_t>(taken); }

  const Place* begin() const { return places_; }
  const Place* end() const { return places_ + kPlaces; }
  void clear() {
    for (Place& place : places_) place.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kPlaces = 512;  // as many as threads are recorded at a time
  std::atomic<std::uint32_t> turns_{0};
  Place places_[kPlaces]{};
};

}  // namespace gpuprof::sample
