// SPDX-License-Identifier: Apache-2.0
//
// Settings of the simulated CUPTI.
//
// Context:  any
// Owns:     one leaked State for each client; per-thread external-correlation stacks, leaked with
//           their threads
// Promises: no object here has a destructor
// Not here: the entry points that change the settings (*_api.cpp)
#include "cupti/state.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "core/config.hpp"
#include "cupti/clients.hpp"

namespace gpusim {
namespace {

constexpr int kExternalKinds = 6;
struct ExternalStack {
  std::uint64_t* ids;
  int depth, capacity;
};
thread_local ExternalStack t_external[kMaxClients][kExternalKinds];

ExternalStack& external_stack(std::uint32_t kind) { return t_external[current_client()][kind]; }

}  // namespace

void State::clear() {
  for (auto& k : kinds) k.store(false);
  for (auto& k : silent) k.store(false);
  for (auto& domain : filter)
    for (auto& f : domain) f.store(Filter::kUnset);
  for (auto& domain : callback_on)
    for (auto& c : domain) c.store(0);
  callback.store(nullptr);
  user_data.store(nullptr);
  subscriber.store(0);
  request.store(nullptr);
  completed.store(nullptr);
  thread_id_type.store(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
  per_thread_buffers.store(config().layout >= Layout::k13_0);
  client_zeroes.store(false);
  for (auto& a : attributes) a.store(0);
  attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE].store(3200000);
  attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT].store(config().device_buffers);
  attributes[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE].store(3);
  flush_period_ms.store(0);
  dropped.store(0);
}

State& state() { return of_client<State>(); }

ToolSlot& subscriber_slot() {
  return config().cupti_per_client ? of_client<ToolSlot>() : tool_slot();
}

std::atomic<bool>& driver_gone() {
  static std::atomic<bool> gone{false};
  return gone;
}

bool api_recorded(ApiDomain domain, std::uint32_t cbid) {
  const auto kind =
      domain == ApiDomain::kDriver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
  const Filter f = state().filter[static_cast<int>(domain)][cbid].load(std::memory_order_relaxed);
  if (f == Filter::kOn || f == Filter::kOff) return f == Filter::kOn;
  return kind_on(kind) && !state().silent[kind].load(std::memory_order_relaxed);
}

bool driver_reachable() {
  static std::atomic<bool> known{false};
  if (known.load()) return true;
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return false;
  const void* mark = dlsym(driver, "gpuprof_simulated_gpu");
  Dl_info info{};
  const bool usable = mark != nullptr && dladdr(mark, &info) != 0 &&
                      std::strstr(info.dli_fname, "/stubs/") == nullptr;
  if (usable) known.store(true);
  return usable;
}

void push_external(std::uint32_t kind, std::uint64_t id) {
  ExternalStack& s = external_stack(kind);
  if (s.depth == s.capacity) {
    s.capacity = s.capacity == 0 ? 32 : s.capacity * 2;
    s.ids = static_cast<std::uint64_t*>(
        std::realloc(s.ids, static_cast<std::size_t>(s.capacity) * sizeof *s.ids));
  }
  s.ids[s.depth++] = id;
}

bool pop_external(std::uint32_t kind, std::uint64_t* id) {
  ExternalStack& s = external_stack(kind);
  if (s.depth == 0) return false;
  *id = s.ids[--s.depth];
  return true;
}

bool top_external(std::uint32_t kind, std::uint64_t* id) {
  const ExternalStack& s = external_stack(kind);
  if (s.depth == 0) return false;
  *id = s.ids[s.depth - 1];
  return true;
}

void call_client(CUpti_CallbackDomain domain, std::uint32_t cbid, const void* data) {
  State& s = state();
  if (cbid >= kMaxCbid || s.callback_on[domain][cbid].load(std::memory_order_relaxed) == 0) return;
  const CUpti_CallbackFunc f = s.callback.load(std::memory_order_acquire);
  if (f != nullptr) f(s.user_data.load(), domain, cbid, data);
}

}  // namespace gpusim
