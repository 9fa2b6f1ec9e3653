// SPDX-License-Identifier: Apache-2.0
//
// glibc's count of the threads it made.
//
// Context:  boundary
#include "inject/hot/thread_count.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>

namespace gpuprof::hot {

namespace {
constinit std::atomic<unsigned*> g_count{nullptr};
}

void find_thread_count() {
  if (g_count.load(std::memory_order_relaxed) != nullptr) return;
  g_count.store(static_cast<unsigned*>(dlsym(RTLD_DEFAULT, "__nptl_nthreads")),
                std::memory_order_relaxed);
}

void count_thread_out() {
  unsigned* count = g_count.load(std::memory_order_relaxed);
  if (count != nullptr && __atomic_sub_fetch(count, 1, __ATOMIC_ACQ_REL) == 0) exit(0);
}

bool count_thread_in() {
  unsigned* count = g_count.load(std::memory_order_relaxed);
  if (count == nullptr) return true;
  unsigned threads = __atomic_load_n(count, __ATOMIC_ACQUIRE);
  while (threads != 0) {
    if (__atomic_compare_exchange_n(count, &threads, threads + 1, true, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return true;
  }
  return false;
}

}  // namespace gpuprof::hot
