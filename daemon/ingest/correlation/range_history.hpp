// SPDX-License-Identifier: Apache-2.0
//
// The range or operator that each thread was in at a recent time: the owner of calls that were
// recorded without a callback.
//
// Context:  daemon (ingest thread)
// Owns:     up to kMaxOfAll turns of all threads (8 MiB, and as much again that is reserved),
//           kMaxOfOne of each
// Promises: what is too long ago, or was lost, is none, and no other
// Not here: launches with a callback, which name theirs (correlation_table.hpp)
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "recording/model/events.hpp"

namespace gpuprof::ingest {

class RangeHistory {
 public:
  static constexpr std::size_t kMaxOfOne = 32'768, kMaxOfAll = 524'288;

  /// From `ts_ns` on the thread is in this one; 0: in none, or in which is not known.
  /// @param ts_ns  One that is before the thread's last is taken as that one.
  void enter(std::uint32_t tid, std::uint64_t ts_ns, model::RangeId range);
  /// From `ts_ns` on no thread is in what it was in before then.
  void leave_all(std::uint64_t ts_ns);
  /// In which one the thread was at `ts_ns`; 0: in none, or not known (any more).
  model::RangeId at(std::uint32_t tid, std::uint64_t ts_ns) const;

 private:
  struct RangeChange {
    std::uint64_t ts_ns;
    model::RangeId range;
  };
  using Turns = std::vector<RangeChange>;

  Turns* changes_of(std::uint32_t tid, bool make);
  void forget_half(Turns& turns);
  void forget_half_of_all();

  std::unordered_map<std::uint32_t, Turns> threads_;
  std::size_t kept_ = 0;  // turns of all threads
  // Records come ring buffer by ring buffer: the thread of the one before this.
  std::uint32_t last_tid_ = 0;
  Turns* last_ = nullptr;
};

}  // namespace gpuprof::ingest
