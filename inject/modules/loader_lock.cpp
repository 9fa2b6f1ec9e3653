// SPDX-License-Identifier: Apache-2.0
//
// Finds the loader's lock by its neighbour, which we hold while we walk the list.
//
// Context:  worker
//
// glibc keeps its locks in one object, `_rtld_global`, since 2.3.4 in this order: the number of
// namespaces, the lock of loading, the lock of the list; where these lie differs by release. The
// lock of the list is the one recursive mutex in there that this thread owns inside of a callback
// of dl_iterate_phdr. What lies before it must look like the other two, or nothing was found.
#include "inject/modules/loader_lock.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <atomic>

#include "gpuprof/base/bytes.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/module_symbols.hpp"

namespace gpuprof::modules {
namespace {

constexpr std::uint64_t kMaxNamespaces = 16;
constexpr std::size_t kMutex = sizeof(pthread_mutex_t);
constexpr int kLooks = 6;
constexpr long kBetweenLooksNs = 50'000;

// Two threads of ours may look for it at the same time, and find the same.
constinit std::atomic<const pthread_mutex_t*> g_lock{nullptr};
constinit std::atomic<bool> g_searched{false};

/// What glibc writes into a mutex that this thread takes: not its kernel id on the worker.
int owner_here() {
  pthread_mutex_t own = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_mutex_lock(&own);
  const int owner = own.__data.__owner;
  pthread_mutex_unlock(&own);
  return owner;
}

struct Search {
  int owner;
  std::uintptr_t found;
  std::uint32_t count;
};

bool is_list_lock(std::uintptr_t at, int owner) {
  const auto mutex = base::load<pthread_mutex_t>(reinterpret_cast<const void*>(at));
  return mutex.__data.__lock != 0 && mutex.__data.__count == 1 && mutex.__data.__owner == owner &&
         mutex.__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP;
}

bool looks_like_load_lock(std::uintptr_t at) {
  const auto mutex = base::load<pthread_mutex_t>(reinterpret_cast<const void*>(at));
  const auto namespaces = base::load<std::uint64_t>(reinterpret_cast<const void*>(at - 8));
  return mutex.__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP && namespaces >= 1 &&
         namespaces <= kMaxNamespaces;
}

int search_loader(dl_phdr_info* module, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!is_loader(*module)) return 0;
  std::uint64_t bytes = 0;
  const std::uintptr_t begin = ModuleSymbols(*module).find("_rtld_global", &bytes);
  if (begin == 0 || bytes < 2 * kMutex + 8 || !is_mapped_in(*module, begin, bytes, PF_R)) return 1;
  for (std::uintptr_t at = begin + 8 + kMutex; at + kMutex <= begin + bytes; at += 8) {
    if (!is_list_lock(at, search.owner)) continue;
    ++search.count;
    if (looks_like_load_lock(at - kMutex)) search.found = at - kMutex;
  }
  return 1;
}

const pthread_mutex_t* load_lock() {
  if (g_searched.load(std::memory_order_acquire)) return g_lock.load(std::memory_order_relaxed);
  Search search{owner_here(), 0, 0};
  visit_listed_modules(search_loader, &search);
  const auto* lock = reinterpret_cast<const pthread_mutex_t*>(search.count == 1 ? search.found : 0);
  g_lock.store(lock, std::memory_order_relaxed);
  g_searched.store(true, std::memory_order_release);
  return lock;
}

/// Who holds it, 0: nobody.
int holder(const pthread_mutex_t* lock) {
  // acquire; pairs with the release of whoever released it: what it loaded is seen
  if (__atomic_load_n(&lock->__data.__lock, __ATOMIC_ACQUIRE) == 0) return 0;
  const int owner = __atomic_load_n(&lock->__data.__owner, __ATOMIC_ACQUIRE);
  return owner != 0 ? owner : -1;  // taken a moment ago
}

}  // namespace

LockState loader_lock_state() {
  const pthread_mutex_t* lock = load_lock();
  if (lock == nullptr) return LockState::kNotFound;
  return holder(lock) == 0 ? LockState::kFree : LockState::kHeld;
}

bool pending_loads_done() {
  const pthread_mutex_t* lock = load_lock();
  if (lock == nullptr) {
    if (void* program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD); program != nullptr)
      dlclose(program);
    return true;
  }
  // dlsym takes it for a moment, too.
  for (int i = 0; i < kLooks; ++i) {
    if (holder(lock) == 0) return true;
    const timespec wait{0, kBetweenLooksNs};
    nanosleep(&wait, nullptr);
  }
  return false;
}

}  // namespace gpuprof::modules
