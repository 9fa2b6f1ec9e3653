// SPDX-License-Identifier: Apache-2.0
//
// Handle lookup and the runtime's implicit context.
//
// Context:  application threads
// Owns:     the runtime device of each thread (plain data)
// Promises: see handles.hpp
// Not here: API entry points
#include "core/handles.hpp"

#include <cuda.h>
#include <driver_types.h>

#include <algorithm>

#include "core/driver.hpp"
#include "core/hooks.hpp"
#include "core/work/timeline.hpp"

namespace gpusim {
namespace {

thread_local int t_device;

std::mutex& primary_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

}  // namespace

Device* device_at(int ordinal) {
  return ordinal >= 0 && ordinal < driver().device_count ? driver().devices[ordinal] : nullptr;
}

int device_on_bus(unsigned bus) {
  for (int i = 0; i < driver().device_count; ++i)
    if (driver().devices[i]->physical + 0x10 == static_cast<int>(bus)) return i;
  return -1;
}

Context* retain_primary(Device* device) {
  const std::lock_guard<std::mutex> lock(primary_mutex());
  if (device->primary == nullptr || !live(device->primary))
    device->primary = create_context(device, device->primary_flags, true);
  ++device->primary_references;
  return device->primary;
}

int release_primary(Device* device) {
  const std::lock_guard<std::mutex> lock(primary_mutex());
  if (device->primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primary_references > 0) return CUDA_SUCCESS;
  synchronize_context(device->primary);
  destroy_context(device->primary);
  device->primary = nullptr;
  return CUDA_SUCCESS;
}

Stream* stream_of(const void* handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value <= 2) {  // null, legacy and per-thread default stream
    Context* c = current_context();
    return c != nullptr ? &c->null_stream : nullptr;
  }
  auto* s = reinterpret_cast<Stream*>(value);
  return live(s) ? s : nullptr;
}

Stream* create_stream(Context* context, unsigned flags, int priority) {
  auto* s = new Stream;
  s->context = context;
  s->flags = flags;
  s->priority = std::clamp(priority, -5, 0);
  s->non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
  {
    const std::lock_guard<std::mutex> lock(driver().mutex);
    s->id = context->next_stream_id++;
    context->streams.push_back(s);
  }
  if (const ToolHooks* h = hooks())
    h->resource({.id = ResourceId::kStreamCreated, .context = context, .stream = s});
  return s;
}

void destroy_stream(Stream* stream) {
  if (const ToolHooks* h = hooks())
    h->resource(
        {.id = ResourceId::kStreamDestroyStarting, .context = stream->context, .stream = stream});
  stream->magic = kDead;
}

Event* create_event(Context* context, unsigned flags) {
  auto* e = new Event;
  e->id = driver().next_event_id.fetch_add(1);
  e->context = context;
  e->flags = flags;
  return e;
}

int runtime_device() {
  const Context* c = current_context();
  return c != nullptr ? c->device->ordinal : t_device;
}

int start_runtime() {
  const int status = driver_status();
  if (status == CUDA_SUCCESS) return cudaSuccess;
  switch (initialize_driver()) {
    case CUDA_SUCCESS:
      return cudaSuccess;
    case CUDA_ERROR_NO_DEVICE:
      return cudaErrorNoDevice;
    case CUDA_ERROR_DEINITIALIZED:
      return cudaErrorCudartUnloading;
    default:
      return cudaErrorInitializationError;
  }
}

int set_runtime_device(int ordinal) {
  if (const int error = start_runtime(); error != cudaSuccess) return error;
  Device* d = device_at(ordinal);
  if (d == nullptr) return cudaErrorInvalidDevice;
  t_device = ordinal;
  set_current_context(live(d->primary) ? d->primary : retain_primary(d));
  return cudaSuccess;
}

Context* runtime_context(int* error) {
  int result = cudaSuccess;
  Context* c = current_context();
  if (c == nullptr || driver_status() != CUDA_SUCCESS) {
    result = set_runtime_device(t_device);
    c = result == cudaSuccess ? current_context() : nullptr;
  }
  if (error != nullptr) *error = result;
  return c;
}

}  // namespace gpusim
