// SPDX-License-Identifier: Apache-2.0
//
// Native stack walks, by whichever unwinder CMake has chosen.
//
// Context:  signal | callback (the walks), worker (unwind_prepare, unwind_forget)
// Owns:     the cache of frame recipes
// Promises: module tables come from the caller's snapshot, never from the loader; the walks must
//           run inside guarded() (fault_guard.hpp): a module may be unmapped under them
#pragma once

#include <cstddef>
#include <cstdint>

#include "inject/sample/unwind/machine.hpp"

namespace gpuprof::sample {

/// Part of another thread's stack, copied.
struct StackCopy {
  std::uintptr_t begin = 0;  // address it was copied from
  std::size_t bytes = 0;     // 0: walk the memory itself
  const unsigned char* data = nullptr;
};

struct Walk {
  std::uint32_t count = 0;  // frames written, the program counter first
  std::uint32_t flags = 0;  // wire::kStackNative…
};

/// Makes the unwinder ready so that its first walk allocates nothing but pool memory. Worker.
/// False: this build has no unwinder, or no memory.
bool unwind_prepare();

/// Gives back the memory of unwind_prepare(). Nobody walks, nor will before that. Worker.
void unwind_release();

/// Modules changed: what was learned about addresses is forgotten. Any context.
void unwind_forget();

/// Walks from `start`. @param interrupted the program counter is about to run (a signal), not a
/// return address.
Walk unwind(const Registers& start, bool interrupted, const StackCopy& copy, std::uint64_t* frames,
            std::uint32_t room);

}  // namespace gpuprof::sample
