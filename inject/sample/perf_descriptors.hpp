// SPDX-License-Identifier: Apache-2.0
//
// Which descriptors are perf events of ours: the handler asks before it believes a signal.
//
// Context:  signal (is_ours), worker (add, remove), boundary (for_each in a forked child)
// Owns:     nothing: the descriptors belong to the perf trigger
#pragma once

#include <atomic>
#include <cstdint>

namespace gpuprof::sample {

class PerfDescriptors {
 public:
  /// False: no place.
  bool add(int fd, std::uint64_t event_id) {
    for (std::uint32_t i = 0; i < kProbes; ++i) {
      Entry& entry = at(fd, i);
      if (entry.fd_plus_1.load(std::memory_order_relaxed) != 0) continue;
      entry.event_id = event_id;
      entry.fd_plus_1.store(static_cast<std::uint32_t>(fd) + 1, std::memory_order_release);
      return true;
    }
    return false;
  }
  void remove(int fd) {
    for (std::uint32_t i = 0; i < kProbes; ++i) {
      Entry& entry = at(fd, i);
      if (entry.fd_plus_1.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(fd) + 1)
        entry.fd_plus_1.store(0, std::memory_order_release);
    }
  }
  bool is_ours(int fd) const {
    for (std::uint32_t i = 0; i < kProbes; ++i)
      if (entries_[(static_cast<std::uint32_t>(fd) + i) % kEntries].fd_plus_1.load(
              std::memory_order_acquire) == static_cast<std::uint32_t>(fd) + 1)
        return true;
    return false;
  }
  /// Forgets all; calls visitor(fd, event_id) for each.
  template <typename Visitor>
  void clear(Visitor&& visitor) {
    for (Entry& entry : entries_) {
      const std::uint32_t fd = entry.fd_plus_1.exchange(0, std::memory_order_relaxed);
      if (fd != 0) visitor(static_cast<int>(fd) - 1, entry.event_id);
    }
  }

 private:
  static constexpr std::uint32_t kEntries = 4096, kProbes = 4;
  struct Entry {
    std::atomic<std::uint32_t> fd_plus_1{0};
    std::uint64_t event_id = 0;
  };
  Entry& at(int fd, std::uint32_t probe) {
    return entries_[(static_cast<std::uint32_t>(fd) + probe) % kEntries];
  }
  Entry entries_[kEntries];
};

extern PerfDescriptors g_perf_descriptors;

}  // namespace gpuprof::sample
