// SPDX-License-Identifier: Apache-2.0
//
// glibc's count of the threads it made.
//
// Context:  boundary
#include "inject/hot/thread_count.hpp"

#include <stdlib.h>
#include <cstring>

#include <atomic>

#include "inject/modules/elf_lookup.hpp"
#include "inject/modules/visit.hpp"

namespace gpuprof::hot {

namespace {
constinit std::atomic<unsigned*> g_count{nullptr};
}

void find_thread_count() {
  if (g_count.load(std::memory_order_relaxed) != nullptr) return;
  // Not by dlsym: another thread may hold the loader's lock until this one has come on.
  modules::visit_listed(
      [](dl_phdr_info* module, std::size_t, void*) {
        if (std::strncmp(modules::file_name(*module), "libc.so.", 8) != 0) return 0;
        const std::uint64_t count = modules::ModuleSymbols(*module).find("__nptl_nthreads");
        g_count.store(reinterpret_cast<unsigned*>(count), std::memory_order_relaxed);
        return 1;
      },
      nullptr);
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
