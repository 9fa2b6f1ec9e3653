// SPDX-License-Identifier: Apache-2.0
//
// glibc's count of the threads it made, and what it does because there was one.
//
// Context:  boundary
#include "inject/hot/worker/glibc_threads.hpp"

#include <stdlib.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <cstring>

#include <atomic>

#include "inject/hot/worker/deadline.hpp"
#include "inject/hot/worker/sleep.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/module_symbols.hpp"

namespace gpuprof::hot {

namespace {
constinit std::atomic<unsigned*> g_count{nullptr};
constinit std::atomic<char*> g_single{nullptr};
constinit std::atomic<int> g_ours{0};  // counted, for the moment, or not quite
constexpr std::uint64_t kLookNs = 50'000;
}  // namespace

void find_glibc_thread_count() {
  if (g_count.load(std::memory_order_relaxed) != nullptr) return;
  // Not by dlsym: another thread may hold the loader's lock until this one has come on.
  modules::visit_listed_modules(
      [](dl_phdr_info* module, std::size_t, void*) {
        if (std::strncmp(modules::file_name(*module), "libc.so.", 8) != 0) return 0;
        const modules::ModuleSymbols symbols(*module);
        const std::uint64_t single = symbols.find("__libc_single_threaded");
        g_single.store(reinterpret_cast<char*>(single), std::memory_order_relaxed);
        const std::uint64_t count = symbols.find("__nptl_nthreads");
        g_count.store(reinterpret_cast<unsigned*>(count), std::memory_order_relaxed);
        return 1;
      },
      nullptr);
}

void exclude_from_thread_count() {
  unsigned* count = g_count.load(std::memory_order_relaxed);
  if (count != nullptr && __atomic_sub_fetch(count, 1, __ATOMIC_ACQ_REL) == 0) exit(0);
}

bool include_in_thread_count() {
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

void adjust_counted_threads(int more) { g_ours.fetch_add(more, std::memory_order_relaxed); }

void reset_counted_threads() { g_ours.store(0, std::memory_order_relaxed); }

bool is_single_threaded() {
  const unsigned* count = g_count.load(std::memory_order_relaxed);
  if (count == nullptr) return false;
  // Some of ours may be counted out already.
  return static_cast<int>(__atomic_load_n(count, __ATOMIC_RELAXED)) -
             g_ours.load(std::memory_order_relaxed) <=
         1;
}

bool libc_locks_needlessly() {
  const char* single = g_single.load(std::memory_order_relaxed);
  return single != nullptr && __atomic_load_n(single, __ATOMIC_RELAXED) == 0 &&
         is_single_threaded();
}

namespace {
// A program may have a copy of its own, which libc before 2.36 looks at, too.
void write_single_threaded(bool one) {
  __atomic_store_n(g_single.load(std::memory_order_relaxed), char{one}, __ATOMIC_RELAXED);
  __atomic_store_n(&__libc_single_threaded, char{one}, __ATOMIC_RELAXED);
}
}  // namespace

bool set_single_threaded(std::uint32_t deadline_ms) {
  Deadline timeout(deadline_ms, 0);
  struct stat threads;
  while (libc_locks_needlessly() && stat("/proc/self/task", &threads) == 0) {
    // The kernel counts a folder for each thread, and two.
    if (threads.st_nlink == (worker_is_paused() ? 4 : 3)) {
      write_single_threaded(true);
      return true;
    }
    const bool ours_end = !worker_is_cloned() || g_ours.load(std::memory_order_relaxed) > 0;
    if (!ours_end || timeout.expired(0)) break;
    sleep_ns(kLookNs);
  }
  return false;
}

void clear_single_threaded() { write_single_threaded(false); }

}  // namespace gpuprof::hot
