// SPDX-License-Identifier: Apache-2.0
//
// What a thread spends in our code: one entry in many is timed and stands for those before it.
//
// Context:  signal | callback (its own thread only)
// Owns:     nothing
// Promises: while it is off, one branch an entry; no entry is timed at a fixed distance, which a
//           program that repeats itself could fall in step with
// Not here: who adds it up (wire::LaneHeader::own_ns) and what follows from it (daemon/session)
#pragma once

#include <cstdint>

namespace gpuprof::hot {

/// Zeroed: off.
class Cost {
 public:
  /// @param rare Of signals, which are dear: one in 4 or 5 is timed, else one in 64 or 65.
  void begin(bool rare, std::uint32_t seed) {
    random_ = seed;
    nearest_ = rare ? 1 : 33;
    mask_ = rare ? 7 : 63;
    choose();
  }

  bool is_on() const { return left_ != 0; }

  /// Whether this entry is timed. @param delivers It takes in what many did: by itself.
  bool is_due(bool delivers) {
    if (delivers) {
      stands_for_ = 0;
      return true;
    }
    if (--left_ != 0) return false;
    stands_for_ = distance_;
    choose();
    return true;
  }

  /// What an entry that took `passed_ns` by the clock, and those it stands for, cost.
  std::uint64_t of(std::uint64_t passed_ns) const;

 private:
  void choose() {
    random_ = random_ * 1'664'525u + 1'013'904'223u;
    distance_ = left_ = nearest_ + ((random_ >> 16) & mask_);
  }

  std::uint32_t left_ = 0;  // entries until one is timed; 0: off
  std::uint32_t distance_ = 0;
  std::uint32_t stands_for_ = 0;  // the one that is timed; 0: for itself
  std::uint32_t random_ = 0;
  std::uint32_t nearest_ = 0, mask_ = 0;  // of what random_ chooses among
};

/// How long reading the clock takes, which is in every measurement. Worker, before a session.
void measure_clock();

}  // namespace gpuprof::hot
