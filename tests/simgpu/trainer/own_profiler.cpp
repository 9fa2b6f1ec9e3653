// SPDX-License-Identifier: Apache-2.0
//
// The sessions of the program's own profiler.
//
// Context:  see the header
// Promises: see the header
// Not here: what gpuprof makes of it
#include "trainer/own_profiler.hpp"

#include <cupti.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

namespace trainer {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};

struct Functions {
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityFlushAll) flush;
  decltype(&cuptiActivityGetNextRecord) next;
};

Functions g_cupti;
std::atomic<long> g_kernels{0};

template <typename F>
bool find(const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
  return *function != nullptr;
}

bool find_all() {
  if (dlsym(RTLD_DEFAULT, "cuptiGetVersion") == nullptr) {
    for (const char* soname : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"})
      if (dlopen(soname, RTLD_NOW | RTLD_GLOBAL) != nullptr) break;
  }
  Functions& f = g_cupti;
  return find("cuptiSubscribe", &f.subscribe) &&
         find("cuptiActivityRegisterCallbacks", &f.register_callbacks) &&
         find("cuptiActivityEnable", &f.enable) && find("cuptiActivityDisable", &f.disable) &&
         find("cuptiActivityFlushAll", &f.flush) && find("cuptiActivityGetNextRecord", &f.next);
}

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *most = 0;
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                        std::size_t valid) {
  CUpti_Activity* at = nullptr;
  while (g_cupti.next(buffer, valid, &at) == CUPTI_SUCCESS)
    if (at->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ++g_kernels;
  std::free(buffer);
}

// Kineto hears of contexts that are made.
void CUPTIAPI heard(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

bool start_own_profiler(bool subscribes) {
  if (g_cupti.enable == nullptr && !find_all()) return false;
  static CUpti_SubscriberHandle s_kept = nullptr;
  if (subscribes && s_kept == nullptr &&
      g_cupti.subscribe(&s_kept, heard, nullptr) != CUPTI_SUCCESS)
    return false;
  if (g_cupti.register_callbacks(requested, completed) != CUPTI_SUCCESS) return false;
  for (const CUpti_ActivityKind kind : kKinds) g_cupti.enable(kind);
  return true;
}

void stop_own_profiler(bool keep_kernels) {
  for (const CUpti_ActivityKind kind : kKinds)
    if (!keep_kernels || kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) g_cupti.disable(kind);
  g_cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

long own_profiler_kernels() { return g_kernels.load(); }

}  // namespace trainer
