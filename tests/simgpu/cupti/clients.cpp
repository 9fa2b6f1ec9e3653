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
#include <cstddef>
#include <cstdint>
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

/// What this thread looked up last; dladdr takes the loader's lock.
struct Known {
  const void* address;
  int client;
};
constexpr std::size_t kKnown = 16;
thread_local Known t_known[kKnown];
thread_local int t_client;

/// Where this library is mapped. A return address in it is a client's callback that ended with a
/// call of ours as its last step.
const void* own_base() {
  static const void* const base = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(&current_client), &info);
    return static_cast<const void*>(info.dli_fbase);
  }();
  return base;
}

int find_or_add(const void* base) {
  Clients& c = clients();
  const std::lock_guard<std::mutex> lock(c.mutex);
  const int count = c.count.load();
  for (int i = 0; i < count; ++i)
    if (c.bases[i] == base) return i;
  if (count == kMaxClients) return kMaxClients - 1;
  c.bases[count] = base;
  c.count.store(count + 1);
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
  Known& known = t_known[(reinterpret_cast<std::uintptr_t>(return_address) >> 2) % kKnown];
  if (known.address == return_address) return known.client;
  Dl_info info{};
  const bool found = dladdr(return_address, &info) != 0;
  if (found && info.dli_fbase == own_base()) return t_client;
  known = {return_address, find_or_add(found ? info.dli_fbase : nullptr)};
  return known.client;
}

ClientScope::ClientScope(int client) : before_(t_client) { t_client = client; }
ClientScope::~ClientScope() { t_client = before_; }

}  // namespace gpusim
