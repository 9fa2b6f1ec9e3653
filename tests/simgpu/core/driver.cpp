// SPDX-License-Identifier: Apache-2.0
//
// Start, end and identity of the simulated driver.
//
// Context:  application threads
// Owns:     one leaked Driver; the string table
// Promises: the injection library's InitializeInjection runs exactly once, before any context
//           exists
// Not here: API entry points (cuda/)
#include "core/driver.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include <cuda.h>

#include "core/hooks.hpp"
#include "core/truth.hpp"

extern "C" {
/// Marks this library as part of the simulated GPU.
__attribute__((visibility("default"))) extern const int gpuprof_simulated_gpu = 1;
}

namespace gpusim {
namespace {

constexpr int kContextDepth = 64;
struct ContextStack {
  Context* at[kContextDepth];
  int depth;
};
thread_local ContextStack t_contexts;

std::atomic<const ToolHooks*> g_hooks{nullptr};
std::atomic<bool> g_forked{false};
// Recursive: the injected tool may call cuInit from InitializeInjection.
pthread_mutex_t g_init_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/// Runs in the child: the device does not survive fork.
void on_fork_child() {
  if (driver().state.load() == 1) g_forked.store(true);
}

/// Runs at exit, after the handlers of injected tools, which registered later.
void on_exit_process() {
  if (g_forked.load() || driver().pid != getpid()) return;
  driver().state.store(2);
  if (const ToolHooks* h = hooks()) h->driver_gone();
  truth_close();
}

/// CUDA_VISIBLE_DEVICES: numbers in the order wanted, up to the first that names no device or one
/// again. @return how many are visible.
int visible_devices(int* physical) {
  const int all = config().devices;
  const char* p = std::getenv("CUDA_VISIBLE_DEVICES");
  int count = 0;
  for (; p == nullptr && count < all; ++count) physical[count] = count;
  while (p != nullptr && count < all) {
    char* end = nullptr;
    const long number = std::strtol(p, &end, 10);
    if (end == p || number < 0 || number >= all) break;
    if (std::find(physical, physical + count, number) != physical + count) break;
    physical[count++] = static_cast<int>(number);
    if (*end != ',') break;
    p = end + 1;
  }
  return count;
}

Device* make_device(int ordinal, int physical) {
  const Config& c = config();
  auto* d = new Device{};
  d->ordinal = ordinal;
  d->physical = physical;
  d->model = device_model(c.model);
  d->total_bytes = c.memory_bytes != 0 ? c.memory_bytes : d->model.memory_bytes;
  device_name(d->model, d->name, sizeof d->name);
  device_uuid(physical, d->uuid);
  return d;
}

void load_injection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  using Entry = int (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "InitializeInjection"));
  if (entry != nullptr) entry();
}

/// The body of the first cuInit, under the init lock.
void first_use(Driver& d) {
  d.pid = getpid();
  int physical[kMaxDevices];
  d.device_count = visible_devices(physical);
  for (int i = 0; i < d.device_count; ++i) d.devices[i] = make_device(i, physical[i]);
  pthread_atfork(nullptr, nullptr, on_fork_child);
  std::atexit(on_exit_process);
  truth_open();
  if (!config().quiet)
    std::fprintf(stderr, "gpusim: simulated GPU in use (pid %d, %d x %s)\n", getpid(),
                 d.device_count, d.device_count > 0 ? d.devices[0]->name : "none");
  // The tool's own CUDA calls must find a usable driver, so the state is set first.
  d.state.store(1);
  load_injection();
  if (const ToolHooks* h = hooks()) h->resource({.id = ResourceId::kInitFinished});
  d.started.store(true);
}

}  // namespace

bool install_hooks(const ToolHooks* table) {
  const ToolHooks* expected = nullptr;
  return g_hooks.compare_exchange_strong(expected, table) || expected == table;
}

const ToolHooks* hooks() { return g_hooks.load(std::memory_order_acquire); }

ToolSlot& tool_slot() {
  static auto* const slot = new ToolSlot{};
  return *slot;
}

Driver& driver() {
  static Driver* const instance = [] {
    auto* d = new Driver{};
    d->next_correlation = config().correlation_start;
    d->next_context_id = 1;
    d->next_event_id = 1;
    d->next_graph_id = 1;
    d->next_grid_id = 1;
    d->next_sync_id = 1;
    d->next_node_id = 1;
    d->next_capture_id = 1;
    return d;
  }();
  return *instance;
}

int initialize_driver() {
  Driver& d = driver();
  if (forked_child()) return CUDA_ERROR_NOT_INITIALIZED;
  if (d.state.load() == 2) return CUDA_ERROR_DEINITIALIZED;
  pthread_mutex_lock(&g_init_mutex);
  if (d.state.load() == 0) first_use(d);
  pthread_mutex_unlock(&g_init_mutex);
  return d.device_count > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

int driver_status() {
  const int state = driver().state.load(std::memory_order_acquire);
  if (state == 1 && !g_forked.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  return state == 2 ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
}

bool forked_child() { return g_forked.load(); }

Context* current_context() {
  const ContextStack& s = t_contexts;
  return s.depth > 0 ? s.at[s.depth - 1] : nullptr;
}

void set_current_context(Context* context) {
  ContextStack& s = t_contexts;
  if (s.depth == 0) s.depth = 1;
  s.at[s.depth - 1] = context;
}

bool push_context(Context* context) {
  ContextStack& s = t_contexts;
  if (s.depth == kContextDepth) return false;
  s.at[s.depth++] = context;
  return true;
}

Context* pop_context() {
  ContextStack& s = t_contexts;
  return s.depth > 0 ? s.at[--s.depth] : nullptr;
}

Context* create_context(Device* device, unsigned flags, bool primary) {
  auto* c = new Context;
  c->id = driver().next_context_id++;
  c->device = device;
  c->flags = flags;
  c->primary = primary;
  c->null_stream.id = kDefaultStreamId;
  c->null_stream.context = c;
  {
    const std::lock_guard<std::mutex> lock(driver().mutex);
    driver().contexts.push_back(c);
  }
  if (const ToolHooks* h = hooks()) h->resource({.id = ResourceId::kContextCreated, .context = c});
  return c;
}

void destroy_context(Context* context) {
  if (const ToolHooks* h = hooks())
    h->resource({.id = ResourceId::kContextDestroyStarting, .context = context});
  context->magic = kDead;
  for (Stream* s : context->streams) s->magic = kDead;
}

const char* intern(const char* text) {
  static auto* const mutex = new std::mutex;
  static auto* const table = new std::unordered_set<std::string>;
  const std::lock_guard<std::mutex> lock(*mutex);
  return table->emplace(text).first->c_str();
}

int driver_version() {
  constexpr int kVersions[] = {11080, 12040, 12090, 13000, 13020, 14000};
  return kVersions[static_cast<int>(config().layout)];
}

}  // namespace gpusim
