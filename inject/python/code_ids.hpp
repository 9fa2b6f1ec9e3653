// SPDX-License-Identifier: Apache-2.0
//
// Ids of the code objects that a thread's stacks met, so that their texts are not read again for
// every frame of every sample.
//
// Context:  signal | callback | worker
// Owns:     nothing (frames.cpp has one for each thread and role)
// Promises: bounded; an entry that was left half written is not believed
// Not here: what a code object's id is made of (code_id.hpp)
#pragma once

#include <atomic>
#include <cstdint>

#include "inject/hot/recorder.hpp"

namespace gpuprof::python {

/// Read and written by one thread in one role only.
class CodeIds {
 public:
  /// PyCodeDef::id of the code object at `code`; 0: not known, or another one's.
  std::uint64_t find(std::uint64_t code, std::uint64_t mark) const {
    const Entry& entry = entries_[place(code)];
    return entry.code == code && entry.mark == mark ? entry.id : 0;
  }

  void add(std::uint64_t code, std::uint64_t mark, std::uint64_t id) {
    Entry& entry = entries_[place(code)];
    // A signal handler of the program's may jump out of here for good.
    entry.code = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    entry.mark = mark;
    entry.id = id;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    entry.code = code;
  }

 private:
  static constexpr std::uint32_t kEntries = 256;
  struct alignas(32) Entry {
    std::uint64_t code;  // address; 0: empty
    std::uint64_t mark;  // CodeMark
    std::uint64_t id;
  };

  static std::uint64_t place(std::uint64_t code) {
    return code * 0x9e3779b97f4a7c15ULL >> 40 & (kEntries - 1);
  }

  Entry entries_[kEntries];
};

/// Those of the calling thread in the guard's role. Other threads that had the same block left
/// theirs, which are as good.
CodeIds& code_ids(const hot::Guard& guard);

}  // namespace gpuprof::python
