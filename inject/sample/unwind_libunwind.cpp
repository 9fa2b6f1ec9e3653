// SPDX-License-Identifier: Apache-2.0
//
// Walks by our build of libunwind (cmake/libunwind), fed from the module snapshot.
//
// Context:  signal | callback (unwind_prepare: worker)
// Owns:     the frame cache: 512 KiB of address space, touched as addresses are seen
// Promises: libc's dl_iterate_phdr is never reached from here; libunwind's own cache stays off,
//           because its lock would be held while module memory is read, and a fault there could
//           then not be left
#include "inject/sample/unwind.hpp"

#include <gpuprof_unwind.h>
#include <sys/mman.h>

#include <cstring>

#include "gpuprof/wire/records.hpp"
#include "inject/sample/phdr_snapshot.hpp"

namespace gpuprof::sample {

namespace {

constexpr std::uint64_t kSlots = 32768;
constinit gpuprof_frame_cache g_cache{nullptr, kSlots, 1};

bool map_cache() {
  if (g_cache.slots != nullptr) return true;
  void* memory = mmap(nullptr, kSlots * sizeof(gpuprof_frame_slot), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_cache.slots = static_cast<gpuprof_frame_slot*>(memory);
  return true;
}

// The first walk initialises libunwind and its pools, which takes locks.
__attribute__((noinline)) void warm_up() {
  SnapshotUse use;
  Registers here;
  own_registers(&here);
  std::uint64_t frames[16];
  unwind(here, false, StackCopy{}, frames, 16);
}

}  // namespace

bool unwind_prepare() {
  if (!map_cache()) return false;
  unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
#ifdef GPUPROF_TEST_LIBC_PHDR
  // Negative control of the stress test: libunwind keeps libc's dl_iterate_phdr.
#else
  unw_set_iterate_phdr_function(unw_local_addr_space, answer_phdr_query);
#endif
  warm_up();
  return true;
}

void unwind_forget() { __atomic_fetch_add(&g_cache.generation, 1, __ATOMIC_RELAXED); }

Walk unwind(const Registers& start, bool interrupted, const StackCopy& copy, std::uint64_t* frames,
            std::uint32_t room) {
  gpuprof_walk_context context;
  std::memcpy(context.registers.uc_mcontext.gregs, start.general, sizeof start.general);
  context.copy_begin = copy.begin;
  context.copy_bytes = copy.bytes;
  context.copy = copy.data;
  int count = 0;
  const int end = gpuprof_walk(&context, interrupted ? 1 : 0, &g_cache,
                               reinterpret_cast<void**>(frames), static_cast<int>(room), &count);
  Walk walk;
  walk.count = static_cast<std::uint32_t>(count);
  if (end == GPUPROF_WALK_LOST) walk.flags |= wire::kStackNativeTruncated;
  if (end == GPUPROF_WALK_FULL) walk.flags |= wire::kStackNativeDeep;
  return walk;
}

}  // namespace gpuprof::sample
