// SPDX-License-Identifier: Apache-2.0
//
// sim_client: a small CUPTI client that knows nothing of gpuprof. It prints all it is given, one
// fact per line.
//
// Context:  test program
// Owns:     its buffers
// Promises: every record delivered is one line on stdout; results of CUPTI calls are printed where
// tests need them Not here: the work it traces (workload.cpp), the comparison with the truth
// (scenario_test.cpp)
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "client/cupti_table.hpp"
#include "client/workload.hpp"

namespace {

client::CuptiTable g_cupti;
std::mutex g_print;
std::atomic<int> g_launch_callbacks{0};
std::set<std::string>* g_options;
std::size_t g_buffer_bytes = 64 * 1024;

bool option(const char* name) { return g_options->count(name) > 0; }

long value_of(const char* name, long fallback) {
  const std::string prefix = std::string(name) + "=";
  for (const std::string& o : *g_options)
    if (o.rfind(prefix, 0) == 0) return std::strtol(o.c_str() + prefix.size(), nullptr, 0);
  return fallback;
}

long tid() { return syscall(SYS_gettid); }

unsigned long long ull(std::uint64_t v) { return v; }

/// Copies the part of a record that all layouts share.
template <typename T>
T prefix(const void* record, std::size_t bytes) {
  T t{};
  std::memcpy(&t, record, bytes);
  return t;
}

void print_kernel(const void* record) {
  const auto k = prefix<CUpti_ActivityKernel10>(record, 112);
  std::printf(
      "kernel corr %u start %llu end %llu device %u context %u stream %u grid %d,%d,%d block "
      "%d,%d,%d name %s\n",
      k.correlationId, ull(k.start), ull(k.end), k.deviceId, k.contextId, k.streamId, k.gridX,
      k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ, k.name != nullptr ? k.name : "(null)");
}

void print_record(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return print_kernel(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto m = prefix<CUpti_ActivityMemcpy6>(record, 48);
      std::printf("memcpy corr %u start %llu end %llu kind %u src %u dst %u bytes %llu\n",
                  m.correlationId, ull(m.start), ull(m.end), m.copyKind, m.srcKind, m.dstKind,
                  ull(m.bytes));
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto m = prefix<CUpti_ActivityMemcpyPtoP4>(record, 64);
      std::printf("memcpy2 corr %u start %llu end %llu from %u to %u bytes %llu\n", m.correlationId,
                  ull(m.start), ull(m.end), m.srcDeviceId, m.dstDeviceId, ull(m.bytes));
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto m = prefix<CUpti_ActivityMemset4>(record, 48);
      std::printf("memset corr %u start %llu end %llu value %u bytes %llu\n", m.correlationId,
                  ull(m.start), ull(m.end), m.value, ull(m.bytes));
      return;
    }
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: {
      const auto a = prefix<CUpti_ActivityAPI>(record, 40);
      const char* name = "?";
      g_cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, a.cbid, &name);
      std::printf("api corr %u start %llu end %llu cbid %u tid %u result %u name %s\n",
                  a.correlationId, ull(a.start), ull(a.end), a.cbid, a.threadId, a.returnValue,
                  name);
      return;
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto e = prefix<CUpti_ActivityExternalCorrelation>(record, 24);
      std::printf("external corr %u kind %d id %llu\n", e.correlationId, e.externalKind,
                  ull(e.externalId));
      return;
    }
    default:
      std::printf("other kind %d\n", record->kind);
  }
}

void CUPTIAPI on_request(uint8_t** buffer, size_t* size, size_t* max_records) {
  *max_records = 0;
  *size = 0;
  *buffer = nullptr;
  std::printf("request tid %ld\n", tid());
  if (option("null-buffer")) return;
  *size = g_buffer_bytes;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(64, g_buffer_bytes));
}

void CUPTIAPI on_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  const std::lock_guard<std::mutex> lock(g_print);
  std::printf("complete tid %ld valid %zu\n", tid(), valid);
  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = g_cupti.cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS)
    print_record(record);
  std::printf("iterator_end %d\n", result);
  std::free(buffer);
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId cbid, const void* data) {
  const auto* d = static_cast<const CUpti_CallbackData*>(data);
  if (cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel && d->callbackSite == CUPTI_API_ENTER) {
    ++g_launch_callbacks;
    *d->correlationData = d->correlationId;
  }
  if (d->callbackSite == CUPTI_API_EXIT && *d->correlationData != d->correlationId)
    std::printf("bad_correlation_data %u\n", d->correlationId);
  if (d->symbolName == nullptr || std::strncmp(d->symbolName, "_ZN6client", 10) != 0)
    std::printf("bad_symbol\n");
}

std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

int report(const char* what, CUptiResult result) {
  std::printf("%s %d\n", what, result);
  return result;
}

CUpti_SubscriberHandle subscribe() {
  CUpti_SubscriberHandle handle{};
  char holder[64] = "";
  if (g_cupti.cuptiSubscribe_v2 != nullptr && !option("subscribe-v1")) {
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "sim_client";
    params.oldSubscriberName = holder;
    params.oldSubscriberSize = sizeof holder;
    report("subscribe_v2", g_cupti.cuptiSubscribe_v2(&handle, on_callback, nullptr, &params));
    std::printf("holder %s\n", holder);
  } else {
    report("subscribe", g_cupti.cuptiSubscribe(&handle, on_callback, nullptr));
  }
  return handle;
}

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

void enable() {
  std::uint8_t per_thread = option("shared-buffers") ? 0 : 1;
  size_t size = sizeof per_thread;
  g_cupti.cuptiActivitySetAttribute(static_cast<CUpti_ActivityAttribute>(9), &size, &per_thread);
  g_cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  report("register", g_cupti.cuptiActivityRegisterCallbacks(on_request, on_completed));
  for (const CUpti_ActivityKind kind : kKinds) report("enable", g_cupti.cuptiActivityEnable(kind));
  if (option("launches-only"))
    report("filter",
           g_cupti.cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1));
  else
    report("enable", g_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
  if (option("all-but-launches"))
    report("filter",
           g_cupti.cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 0));
}

void disable() {
  for (const CUpti_ActivityKind kind : kKinds) g_cupti.cuptiActivityDisable(kind);
  g_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
}

bool work(client::Workload& w) {
  const int launches = static_cast<int>(value_of("launches", 200));
  g_cupti.cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 4711);
  const bool first = w.launch(launches / 2);
  g_cupti.cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, nullptr);
  if (option("tsc"))
    report("timestamp_callback", g_cupti.cuptiActivityRegisterTimestampCallback(ticks));
  return first && w.launch(launches - launches / 2) && (option("pending") || w.copies()) &&
         (!option("graph") || w.graph(static_cast<int>(value_of("graph-nodes", 5)), 3));
}

}  // namespace

int main(int argc, char** argv) {
  g_options = new std::set<std::string>(argv + 1, argv + argc);
  g_buffer_bytes = static_cast<std::size_t>(value_of("buffer-bytes", 64 * 1024));
  if (!g_cupti.open()) {
    std::puts("no_cupti");
    return 2;
  }
  std::uint32_t version = 0;
  g_cupti.cuptiGetVersion(&version);
  std::printf("version api %u tid %ld\n", version, tid());
  CUpti_SubscriberHandle handle = option("no-subscribe") ? nullptr : subscribe();
  enable();
  if (handle != nullptr)
    report("callback", g_cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API,
                                                   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  client::Workload w;
  if (!w.set_up() || !work(w)) return 3;
  if (!option("pending")) w.synchronize();
  if (value_of("sleep-ms", 0) > 0) usleep(static_cast<useconds_t>(value_of("sleep-ms", 0) * 1000));
  disable();
  report("flush", g_cupti.cuptiActivityFlushAll(static_cast<std::uint32_t>(value_of("flush", 1))));
  size_t dropped = 0;
  g_cupti.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  std::printf("dropped %zu\n", dropped);
  g_cupti.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  std::printf("dropped_again %zu\n", dropped);
  std::printf("launch_callbacks %d\n", g_launch_callbacks.load());
  if (handle != nullptr) report("unsubscribe", g_cupti.cuptiUnsubscribe(handle));
  if (value_of("linger-ms", 0) > 0)
    usleep(static_cast<useconds_t>(value_of("linger-ms", 0) * 1000));
  std::puts("done");
  return 0;
}
