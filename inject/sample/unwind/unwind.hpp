// SPDX-License-Identifier: Apache-2.0
//
// Native stack walks, by whichever unwinder CMake has chosen.
//
// Context:  signal | callback (the walks), worker (unwind_prepare, unwind_invalidate)
// Owns:     the cache of frame recipes
// Promises: module tables come from the caller's snapshot, never from the loader; the walks must
//           run inside call_guarded() (fault_guard.hpp): a module may be unmapped under them
#pragma once

#include <cstddef>
#include <cstdint>

#include "inject/sample/unwind/arch.hpp"

namespace gpuprof::sample {

/// Part of another thread's stack, copied.
struct StackCopy {
  std::uintptr_t begin = 0;  // address it was copied from
  std::size_t bytes = 0;     // 0: walk the memory itself
  const unsigned char* data = nullptr;
};

struct UnwindResult {
  std::uint32_t count = 0;  // frames written, the program counter first
  std::uint32_t flags = 0;  // wire::kStackNative…
};

/// One word of the thread's own stack that a walk relied on.
struct FootprintWord {
  std::uint64_t at, value;
};

/// What a walk of the thread's own stack relied on, innermost first. A walk that starts from the
/// same registers that count and finds these words unchanged goes the same way. Each word lies
/// where the ones before it say that a frame is.
struct StackFootprint {
  static constexpr std::uint32_t kMaxWords = 320;
  std::uint32_t count = 0;
  bool whole = false;     // the walk was complete and relied on nothing else
  bool needs_fp = false;  // it relied on the frame pointer that it began with
  FootprintWord words[kMaxWords];
};

/// Makes the unwinder ready so that its first walk allocates nothing but pool memory. Worker.
/// False: this build has no unwinder, or no memory.
bool unwind_prepare();

/// Gives back the memory of unwind_prepare(). No walk is under way, nor will be before that.
/// Worker.
void unwind_release();

/// Modules changed: what was learned about addresses is forgotten. Any context.
void unwind_invalidate();

/// Grows with unwind_invalidate(): what was learned before is not valid any more. Any context.
std::uint64_t unwind_generation();

/// Walks from `start`. @param interrupted the program counter is about to run (a signal), not a
/// return address. @param footprint receives what it relies on; null: not requested.
UnwindResult unwind(const Registers& start, bool interrupted, const StackCopy& copy,
                    std::uint64_t* frames, std::uint32_t room, StackFootprint* footprint = nullptr);

}  // namespace gpuprof::sample
