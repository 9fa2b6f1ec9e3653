// SPDX-License-Identifier: Apache-2.0
//
// Threads that block the sampling signal and got one while a waiting call had unblocked it.
//
// Context:  signal (add), worker (the rest), boundary (clear in a forked child)
// Promises: outlives the list of threads, which begins anew with each rate and signal
#pragma once

#include <atomic>
#include <cstdint>

namespace gpuprof::sample {

enum class InterruptedWait { kFirst, kAgain, kTableFull };

class InterruptedWaits {
 public:
  /// kTableFull: it is not known whether it is the thread's first. Where there is none left the
  /// next one tells.
  InterruptedWait add(std::uint32_t tid) {
    for (std::uint32_t i = 0; i < kProbes; ++i) {
      std::uint32_t found = 0;
      if (place(tid, i).compare_exchange_strong(found, tid, std::memory_order_acq_rel)) {
        fresh_.store(true, std::memory_order_release);
        return InterruptedWait::kFirst;
      }
      if (found == tid) return InterruptedWait::kAgain;
    }
    return InterruptedWait::kTableFull;
  }
  /// Whether some were added since the last call.
  bool take_changed() { return fresh_.exchange(false, std::memory_order_acquire); }
  bool has(std::uint32_t tid) {
    for (std::uint32_t i = 0; i < kProbes; ++i)
      if (place(tid, i).load(std::memory_order_relaxed) == tid) return true;
    return false;
  }
  /// The thread has ended; another one may get its id.
  void remove(std::uint32_t tid) {
    for (std::uint32_t i = 0; i < kProbes; ++i) {
      std::uint32_t found = tid;
      place(tid, i).compare_exchange_strong(found, 0, std::memory_order_relaxed);
    }
  }
  void clear() {
    for (std::atomic<std::uint32_t>& tid : tids_) tid.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kPlaces = 1024, kProbes = 8;
  std::atomic<std::uint32_t>& place(std::uint32_t tid, std::uint32_t probe) {
    return tids_[(tid + probe) % kPlaces];
  }
  std::atomic<bool> fresh_{false};
  std::atomic<std::uint32_t> tids_[kPlaces]{};
};

extern InterruptedWaits g_interrupted_waits;

}  // namespace gpuprof::sample
