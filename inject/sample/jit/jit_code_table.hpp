// SPDX-License-Identifier: Apache-2.0
//
// The table behind jit_code.hpp: sorted ranges under a sequence count.
//
// Context:  signal | callback (holds), worker (write)
// Promises: a reader that comes while it is written finds nothing, or what was there before or
//           after
#pragma once

#include <atomic>
#include <cstdint>

namespace gpuprof::sample {

struct CodeRange {
  std::uint64_t begin, end;
};

class JitCodeTable {
 public:
  static constexpr std::uint32_t kMaxRanges = 1024;

  bool holds(std::uint64_t address) const {
    const std::uint32_t before = sequence_.load(std::memory_order_acquire);
    if ((before & 1) != 0) return false;
    std::uint32_t low = 0, high = count_.load(std::memory_order_relaxed);
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (begin_[middle].load(std::memory_order_relaxed) <= address)
        low = middle + 1;
      else
        high = middle;
    }
    const bool inside = low != 0 && address < end_[low - 1].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return inside && sequence_.load(std::memory_order_relaxed) == before;
  }

  /// @param ranges Sorted, not overlapping.
  void write(const CodeRange* ranges, std::uint32_t count) {
    const std::uint32_t before = sequence_.load(std::memory_order_relaxed);
    sequence_.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::uint32_t i = 0; i < count; ++i) {
      begin_[i].store(ranges[i].begin, std::memory_order_relaxed);
      end_[i].store(ranges[i].end, std::memory_order_relaxed);
    }
    count_.store(count, std::memory_order_relaxed);
    sequence_.store(before + 2, std::memory_order_release);
  }

  std::uint32_t size() const { return count_.load(std::memory_order_relaxed); }
  CodeRange at(std::uint32_t i) const {
    return {begin_[i].load(std::memory_order_relaxed), end_[i].load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::uint32_t> sequence_{0}, count_{0};
  std::atomic<std::uint64_t> begin_[kMaxRanges]{}, end_[kMaxRanges]{};
};

extern JitCodeTable g_jit_code;
/// An address that was not found, 0: none since the list was read last.
extern std::atomic<std::uint64_t> g_unknown_pc;

}  // namespace gpuprof::sample
