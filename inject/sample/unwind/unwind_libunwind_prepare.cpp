// SPDX-License-Identifier: Apache-2.0
//
// Makes libunwind ready before the first handler uses it.
//
// Context:  worker
// Owns:     the frame cache's memory
//
// Between sessions two pages of libunwind's own stay, its pools of register states and of CIEs; the
// library has no way to give them back. They grow by a page for every few walks that were ever
// under way at the same moment, never with the number of sessions. Its caches are off and map
// nothing.
#include <sys/mman.h>

#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/unwind/frame_cache.hpp"
#include "inject/sample/unwind/unwind.hpp"

namespace gpuprof::sample {

namespace {

bool map_cache() {
  if (g_frame_cache.slots != nullptr) return true;
  void* memory = mmap(nullptr, kFrameSlots * sizeof(gpuprof_frame_slot), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_frame_cache.slots = static_cast<gpuprof_frame_slot*>(memory);
  return true;
}

// The first walk initialises libunwind and its pools, which takes locks.
__attribute__((noinline)) void warm_up() {
  SnapshotReader use;
  Registers here;
  current_registers(&here);
  std::uint64_t frames[16];
  unwind(here, false, StackCopy{}, frames, 16);
}

}  // namespace

bool unwind_prepare() {
  if (!map_cache()) return false;
  // Its own cache would be read under a lock, with module memory read meanwhile: a fault there
  // could not be left.
  unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
#ifndef GPUPROF_TEST_LIBC_PHDR  // the negative control of the stress test keeps libc's
  unw_set_iterate_phdr_function(unw_local_addr_space, iterate_snapshot_phdr);
#endif
  warm_up();
  return true;
}

void unwind_release() {
  if (g_frame_cache.slots == nullptr) return;
  munmap(g_frame_cache.slots, kFrameSlots * sizeof(gpuprof_frame_slot));
  g_frame_cache.slots = nullptr;
}

}  // namespace gpuprof::sample
