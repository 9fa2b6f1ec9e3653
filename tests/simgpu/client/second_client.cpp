// SPDX-License-Identifier: Apache-2.0
//
// The second client.
//
// Context:  test program
// Owns:     its buffers
// Promises: see second_client.hpp
// Not here: which of the two gets the records (that is what the tests ask)
#include "client/second_client.hpp"

#include <atomic>
#include <cstdlib>

#include "client/print_record.hpp"
#include "core/handles.hpp"
#include "core/work/library_kernel.hpp"

namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;

client::CuptiTable g_table;
CUpti_SubscriberHandle g_handle;
std::atomic<int> g_callbacks{0};

void CUPTIAPI on_request(uint8_t** buffer, size_t* size, size_t* most) {
  *most = 0;
  *size = kBufferBytes;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(64, kBufferBytes));
}

void CUPTIAPI on_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (g_table.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
    client::print_record(g_table, record, "second_");
  std::free(buffer);
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto* d = static_cast<const CUpti_CallbackData*>(data);
  if (d->callbackSite == CUPTI_API_ENTER) {
    ++g_callbacks;
    *d->correlationData = 77;
  } else if (*d->correlationData != 77) {
    std::puts("bad_correlation_data 0");
  }
}

void start(std::uint64_t (*clock)()) {
  g_table.open();
  std::printf("second_subscribe %d\n", g_table.cuptiSubscribe(&g_handle, on_callback, nullptr));
  if (g_handle != nullptr)
    g_table.cuptiEnableCallback(1, g_handle, CUPTI_CB_DOMAIN_DRIVER_API,
                                CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  if (clock != nullptr) g_table.cuptiActivityRegisterTimestampCallback(clock);
  std::printf("second_register %d\n",
              g_table.cuptiActivityRegisterCallbacks(on_request, on_completed));
  std::printf("second_enable %d\n",
              g_table.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

void push(std::uint64_t id) {
  g_table.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  g_table.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
  const CUptiResult result =
      g_table.cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id);
  std::printf("second_push %d\n", result);  // after the call, so that it is no jump
}

void stop() {
  g_table.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  g_table.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  g_table.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
  std::printf("second_flush %d\n", g_table.cuptiActivityFlushAll(1));
  std::printf("second_callbacks %d\n", g_callbacks.load());
  if (g_handle != nullptr) g_table.cuptiUnsubscribe(g_handle);
}

bool library_kernels(int count) {
  const gpusim::LibraryKernel kernel{.name = "_ZN6client7libraryEPfi",
                                     .grid = {16, 1, 1},
                                     .block = {128, 1, 1},
                                     .cluster = {},
                                     .registers = 40,
                                     .static_smem = 0,
                                     .dynamic_smem = 0,
                                     .flops = 1e6,
                                     .peak_tflops = 60,
                                     .traffic_bytes = 1e5};
  gpusim::Stream* const stream = gpusim::stream_of(nullptr);
  for (int i = 0; i < count; ++i)
    if (gpusim::launch_library_kernel(stream, kernel) != 0) return false;
  return true;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) extern const client::SecondClient gpusim_second{
    start, push, stop, library_kernels};
}
