// SPDX-License-Identifier: Apache-2.0
//
// For builds without an unwinder: a stack is its program counter.
//
// Context:  signal | callback
// Owns:     nothing
#include "gpuprof/wire/records.hpp"
#include "inject/sample/unwind/unwind.hpp"

namespace gpuprof::sample {

bool unwind_prepare() { return false; }

void unwind_release() {}

void unwind_invalidate() {}

std::uint64_t unwind_generation() { return 1; }

UnwindResult unwind(const Registers& start, bool, const StackCopy&, std::uint64_t* frames,
                    std::uint32_t room, StackFootprint*) {
  if (room == 0) return UnwindResult{};
  frames[0] = program_counter(start);
  return UnwindResult{1, wire::kStackNativeTruncated};
}

}  // namespace gpuprof::sample
