// SPDX-License-Identifier: Apache-2.0
//
// sim_client: a small CUPTI client that knows nothing of gpuprof. It prints all it is given, one
// fact per line.
//
// Context:  test program
// Owns:     its buffers
// Promises: every record delivered is one line on stdout; results of CUPTI calls are printed where
//           tests need them
// Not here: the work it traces (workload.cpp), the comparison with the truth (scenario_test.cpp)
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "client/cupti_table.hpp"
#include "client/print_record.hpp"
#include "client/second_client.hpp"
#include "client/workload.hpp"

namespace {

client::CuptiTable g_cupti;
std::mutex g_print;
std::atomic<int> g_launch_callbacks{0};
std::set<std::string>* g_options;
std::size_t g_buffer_bytes = 64 * 1024;
const client::SecondClient* g_second;
pid_t g_pid;

bool option(const char* name) { return g_options->count(name) > 0; }

long value_of(const char* name, long fallback) {
  const std::string prefix = std::string(name) + "=";
  for (const std::string& o : *g_options)
    if (o.rfind(prefix, 0) == 0) return std::strtol(o.c_str() + prefix.size(), nullptr, 0);
  return fallback;
}

long tid() { return syscall(SYS_gettid); }

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
  std::printf("%scomplete tid %ld valid %zu\n", getpid() != g_pid ? "child_" : "", tid(), valid);
  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = g_cupti.cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS)
    client::print_record(g_cupti, record, "");
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

struct OptionalKind {
  const char* option;
  CUpti_ActivityKind kind;
};
constexpr OptionalKind kOptionalKinds[] = {
    {"library", CUPTI_ACTIVITY_KIND_RUNTIME},
    {"sync", CUPTI_ACTIVITY_KIND_SYNCHRONIZATION},
    {"graph-trace", CUPTI_ACTIVITY_KIND_GRAPH_TRACE},
};

void enable() {
  std::uint8_t per_thread = option("shared-buffers") ? 0 : 1;
  size_t size = sizeof per_thread;
  g_cupti.cuptiActivitySetAttribute(static_cast<CUpti_ActivityAttribute>(9), &size, &per_thread);
  g_cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  report("register", g_cupti.cuptiActivityRegisterCallbacks(on_request, on_completed));
  for (const CUpti_ActivityKind kind : kKinds) report("enable", g_cupti.cuptiActivityEnable(kind));
  for (const OptionalKind& k : kOptionalKinds)
    if (option(k.option)) report("enable", g_cupti.cuptiActivityEnable(k.kind));
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
  for (const OptionalKind& k : kOptionalKinds)
    if (option(k.option)) g_cupti.cuptiActivityDisable(k.kind);
  g_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
}

/// The same moment on both clocks, for tests that convert.
void print_pair() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  std::printf("pair mono %lld ticks %llu\n", t.tv_sec * 1000000000ll + t.tv_nsec,
              static_cast<unsigned long long>(ticks()));
}

void start_second() {
  void* library = dlopen(SIM_SECOND, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("no_second %s\n", dlerror());
    return;
  }
  g_second = static_cast<const client::SecondClient*>(dlsym(library, "gpusim_second"));
  if (option("second") || option("second-after"))
    g_second->start(option("second-tsc") ? ticks : nullptr);
  if (option("second-external")) g_second->push(815);
}

bool library_work() {
  g_cupti.cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 11);
  g_cupti.cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, 12);
  const bool done = g_second->library_kernels(10);
  g_cupti.cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr);
  g_cupti.cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, nullptr);
  return done;
}

/// `threads` threads, 20 launches each: every one of them leaves a buffer that is not full.
bool threads_work(client::Workload& w) {
  std::atomic<bool> good{true};
  std::vector<std::thread> all;
  for (long i = 0; i < value_of("threads", 0); ++i)
    all.emplace_back([&] {
      if (!w.enter() || !w.launch(20)) good = false;
    });
  for (std::thread& t : all) t.join();
  return good;
}

bool work(client::Workload& w) {
  const int launches = static_cast<int>(value_of("launches", 200));
  g_cupti.cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 4711);
  const bool first = w.launch(launches / 2);
  g_cupti.cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, nullptr);
  if (option("tsc")) {
    print_pair();
    report("timestamp_callback", g_cupti.cuptiActivityRegisterTimestampCallback(ticks));
  }
  return first && w.launch(launches - launches / 2) && (option("pending") || w.copies()) &&
         (!option("graph") || w.graph(static_cast<int>(value_of("graph-nodes", 5)), 3)) &&
         (!option("library") || library_work()) && threads_work(w);
}

/// What comes between the work and the end of the session.
void pause_and_fork(client::Workload& w) {
  if (!option("pending")) w.synchronize();
  if (value_of("sleep-ms", 0) > 0) usleep(static_cast<useconds_t>(value_of("sleep-ms", 0) * 1000));
  if (option("tsc")) print_pair();
  if (!option("fork")) return;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

void end_session() {
  disable();
  report("flush", g_cupti.cuptiActivityFlushAll(static_cast<std::uint32_t>(value_of("flush", 1))));
  size_t dropped = 0;
  g_cupti.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  std::printf("dropped %zu\n", dropped);
  g_cupti.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  std::printf("dropped_again %zu\n", dropped);
  std::printf("launch_callbacks %d\n", g_launch_callbacks.load());
}

/// Everything again after cuptiFinalize.
void start_over(client::Workload& w) {
  report("finalize", g_cupti.cuptiFinalize());
  w.launch(10);
  std::printf("again 1\n");
  CUpti_SubscriberHandle handle = subscribe();
  enable();
  w.launch(10);
  w.synchronize();
  end_session();
  if (handle != nullptr) report("unsubscribe", g_cupti.cuptiUnsubscribe(handle));
}

}  // namespace

int main(int argc, char** argv) {
  g_options = new std::set<std::string>(argv + 1, argv + argc);
  g_buffer_bytes = static_cast<std::size_t>(value_of("buffer-bytes", 64 * 1024));
  g_pid = getpid();
  if (!g_cupti.open()) {
    std::puts("no_cupti");
    return 2;
  }
  if (option("functions-of-13.2"))
    g_cupti.print_missing({"cuptiActivityGetStructSize", "cuptiActivityGetEnabledKinds",
                           "cuptiGetEnabledCallbacks", "cuptiActivityEnable_v2"});
  std::uint32_t version = 0;
  g_cupti.cuptiGetVersion(&version);
  std::printf("version api %u tid %ld\n", version, tid());
  CUpti_SubscriberHandle handle = option("no-subscribe") ? nullptr : subscribe();
  if (option("second") || option("library")) start_second();
  enable();
  if (handle != nullptr)
    report("callback", g_cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API,
                                                   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  if (option("second-after")) start_second();
  client::Workload w;
  if (!w.set_up() || !work(w)) return 3;
  pause_and_fork(w);
  end_session();
  if (option("second") || option("second-after")) g_second->stop();
  if (handle != nullptr && !option("finalize"))
    report("unsubscribe", g_cupti.cuptiUnsubscribe(handle));
  if (option("finalize")) start_over(w);
  if (value_of("linger-ms", 0) > 0)
    usleep(static_cast<useconds_t>(value_of("linger-ms", 0) * 1000));
  std::puts("done");
  return 0;
}
