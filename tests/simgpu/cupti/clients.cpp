// SPDX-License-Identifier: Apache-2.0
//
// The list of clients and the current one of each thread.
//
// Context:  any
// Owns:     the list of clients
// Promises: see clients.hpp
// Not here: entry points (*_api.cpp), which open a scope through Call
#include "cupti/clients.hpp"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "core/config.hpp"

namespace gpusim {
namespace {

struct Clients {
  std::mutex mutex;
  const void* bases[kMaxClients];
  std::atomic<int> count;
};

Clients& clients() {
  static auto* const c = new Clients{};
  return *c;
}

thread_local int t_client;

/// Where the object is mapped that has this address; null: in none. dladdr would also look for the
/// nearest symbol, which takes 0.6 ms in libtorch, and take the loader's lock.
const void* base_of(const void* address) {
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(address), &found) != 0) return nullptr;
  return found.dlfo_map_start;
}

/// Where this library is mapped. A return address in it is a client's callback that ended with a
/// call of ours as its last step.
const void* own_base() {
  static const void* const base = base_of(reinterpret_cast<const void*>(&current_client));
  return base;
}

/// Its number, or -1.
int find(const Clients& c, const void* base) {
  const int count = c.count.load(std::memory_order_acquire);  // pairs with find_or_add()
  for (int i = 0; i < count; ++i)
    if (c.bases[i] == base) return i;
  return -1;
}

int find_or_add(const void* base) {
  Clients& c = clients();
  if (const int known = find(c, base); known >= 0) return known;
  const std::lock_guard<std::mutex> lock(c.mutex);
  if (const int known = find(c, base); known >= 0) return known;
  const int count = c.count.load();
  if (count == kMaxClients) return kMaxClients - 1;
  c.bases[count] = base;
  c.count.store(count + 1, std::memory_order_release);
  return count;
}

}  // namespace

int current_client() { return t_client; }

int client_count() {
  if (!config().cupti_per_client) return 1;
  const int count = clients().count.load(std::memory_order_acquire);
  return count > 0 ? count : 1;
}

int client_of(const void* return_address) {
  if (!config().cupti_per_client) return 0;
  const void* const base = base_of(return_address);
  return base != nullptr && base == own_base() ? t_client : find_or_add(base);
}

ClientScope::ClientScope(int client) : before_(t_client) { t_client = client; }
ClientScope::~ClientScope() { t_client = before_; }

}  // namespace gpusim
