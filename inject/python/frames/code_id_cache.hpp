// SPDX-License-Identifier: Apache-2.0
//
// Ids of the code objects that were found in stacks, so that their texts are not read again for
// every frame of every sample.
//
// Context:  signal | callback | worker
// Owns:     nothing (frames.cpp has the process's)
// Promises: bounded; nobody waits: an entry that is being written does not exist for others, and
//           one that was left half written never does again
// Not here: what a code object's id is made of (code_id.hpp)
#pragma once

#include <atomic>
#include <cstdint>

namespace gpuprof::python {

/// Two code objects for each place, which lie in one line of the cache. Zeroed memory is empty.
class CodeIdCache {
 public:
  /// PyCodeDef::id of the code object at `code`; 0: not known, or another one's.
  std::uint64_t find(std::uint64_t code, std::uint64_t mark) const {
    for (const Entry& entry : sets_[place(code)].entries) {
      const std::uint64_t version = entry.version.load(std::memory_order_acquire);
      const bool same = entry.code.load(std::memory_order_relaxed) == code &&
                        entry.mark.load(std::memory_order_relaxed) == mark;
      const std::uint64_t id = entry.id.load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      // Else others wrote meanwhile, or began to.
      if (same && version % 2 == 0 && entry.version.load(std::memory_order_relaxed) == version)
        return id;
    }
    return 0;
  }

  void add(std::uint64_t code, std::uint64_t mark, std::uint64_t id) {
    Set& set = sets_[place(code)];
    Entry& entry = set.oldest(code);
    std::uint64_t version = entry.version.load(std::memory_order_relaxed);
    if (version % 2 != 0 ||
        !entry.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire))
      return;
    std::atomic_thread_fence(std::memory_order_release);
    entry.code.store(code, std::memory_order_relaxed);
    entry.mark.store(mark, std::memory_order_relaxed);
    entry.id.store(id, std::memory_order_relaxed);
    entry.version.store(version + 2, std::memory_order_release);
  }

  /// Forgets all, also what was left half written. Nobody uses it meanwhile.
  void clear() {
    for (Set& set : sets_)
      for (Entry& entry : set.entries)
        if (entry.version.load(std::memory_order_relaxed) != 0) entry.clear();
  }

 private:
  static constexpr std::uint32_t kSets = 1024;
  struct Entry {
    std::atomic<std::uint64_t> version;  // odd while it is written
    std::atomic<std::uint64_t> code;     // address
    std::atomic<std::uint64_t> mark;     // CodeFingerprint
    std::atomic<std::uint64_t> id;

    void clear() {
      version.store(0, std::memory_order_relaxed);
      code.store(0, std::memory_order_relaxed);
    }
  };
  struct alignas(64) Set {
    Entry entries[2];

    /// The one at the same address, else each in turn.
    Entry& oldest(std::uint64_t code) {
      for (Entry& entry : entries)
        if (entry.code.load(std::memory_order_relaxed) == code) return entry;
      const std::uint64_t written = entries[0].version.load(std::memory_order_relaxed) +
                                    entries[1].version.load(std::memory_order_relaxed);
      return entries[written / 2 % 2];
    }
  };

  static std::uint64_t place(std::uint64_t code) {
    return (code * 0x9e3779b97f4a7c15ULL >> 40) & (kSets - 1);
  }

  Set sets_[kSets];
};

/// The process's.
extern CodeIdCache g_code_ids;

}  // namespace gpuprof::python
