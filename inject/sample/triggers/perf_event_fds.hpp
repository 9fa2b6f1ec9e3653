// SPDX-License-Identifier: Apache-2.0
//
// The table of our perf event descriptors, by which the handler recognizes our signals.
//
// Context:  signal (on_signal), worker (add, remove, take_signal_count), boundary (clear in a
//           forked child)
// Owns:     nothing: the descriptors belong to the perf trigger
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace gpuprof::sample {

class PerfEventFds {
 public:
  /// False: no place.
  bool add(int fd, std::uint64_t event_id, pid_t tid) {
    for (std::uint32_t i = 0; i < kProbes; ++i) {
      Entry& entry = at(fd, i);
      if (entry.fd_plus_1.load(std::memory_order_relaxed) != 0) continue;
      entry.event_id = event_id;
      entry.tid.store(static_cast<std::uint32_t>(tid), std::memory_order_relaxed);
      entry.answers.store(0, std::memory_order_relaxed);
      widen(fd);
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
  /// A signal of descriptor `fd` has arrived: the thread it is for; 0: it is no event of ours. The
  /// descriptor is in the worker's own table: the handler may know its number but not use it.
  std::uint32_t on_signal(int fd) {
    Entry* entry = find(fd);
    if (entry == nullptr) return 0;
    entry->answers.fetch_add(1, std::memory_order_relaxed);
    return entry->tid.load(std::memory_order_relaxed);
  }
  /// Whether an event of ours has or had a number in the range of this one. They are at the top of
  /// the range (move_fd_high), where the program has none.
  bool may_have_had(int fd) const {
    return fd >= lowest_.load(std::memory_order_acquire) &&
           fd <= highest_.load(std::memory_order_acquire);
  }
  /// Signals that arrived since the last call.
  std::uint32_t take_signal_count(int fd) {
    Entry* entry = find(fd);
    return entry == nullptr ? 0 : entry->answers.exchange(0, std::memory_order_relaxed);
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
    std::atomic<std::uint32_t> answers{0};
    std::atomic<std::uint32_t> tid{0};
    std::uint64_t event_id = 0;
  };
  void widen(int fd) {  // by the worker alone
    if (fd < lowest_.load(std::memory_order_relaxed)) lowest_.store(fd, std::memory_order_release);
    if (fd > highest_.load(std::memory_order_relaxed))
      highest_.store(fd, std::memory_order_release);
  }
  Entry* find(int fd) {
    for (std::uint32_t i = 0; i < kProbes; ++i) {
      Entry& entry = at(fd, i);
      if (entry.fd_plus_1.load(std::memory_order_acquire) == static_cast<std::uint32_t>(fd) + 1)
        return &entry;
    }
    return nullptr;
  }
  Entry& at(int fd, std::uint32_t probe) {
    return entries_[(static_cast<std::uint32_t>(fd) + probe) % kEntries];
  }
  Entry entries_[kEntries];
  std::atomic<int> lowest_{1 << 30}, highest_{-1};
};

extern PerfEventFds g_perf_descriptors;

}  // namespace gpuprof::sample
