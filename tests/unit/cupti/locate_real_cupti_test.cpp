// SPDX-License-Identifier: Apache-2.0
//
// The real libcupti without a driver: loading, probing, iterating, names, and its refusals.
// Skipped where no CUPTI is installed. Nothing here touches a GPU.
//
// Context:  tests
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "inject/cupti/activity/buffer_callbacks.hpp"
#include "inject/cupti/activity/buffer_pool.hpp"
#include "inject/cupti/activity/clock.hpp"
#include "inject/cupti/activity/name_ids.hpp"
#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/library/locate.hpp"
#include "inject/cupti/library/record_sizes.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof::cupti {
namespace {

class RealCupti : public ::testing::Test {
 protected:
  void SetUp() override {
    Driver none;
    CuptiLibrary copy;
    if (!locate_cupti(none, &copy, &g_callback_state.api))
      GTEST_SKIP() << "no libcupti on this machine";
    if (copy.simulated) GTEST_SKIP() << "only the simulated libcupti is here";
    path_ = copy.path;
    probe_record_sizes(g_callback_state.api, &g_callback_state.layout);
  }
  std::string path_;
};

TEST_F(RealCupti, IsFoundAndLoadedWithoutADriver) {
  EXPECT_GE(g_callback_state.api.version, 13u);
  EXPECT_EQ(path_.front(), '/');
}

TEST_F(RealCupti, SizesOfOurHeadersReleaseAreThoseOfItsStructs) {
  if (g_callback_state.api.version / 100 != CUPTI_API_VERSION / 100)
    GTEST_SKIP() << "another release than the headers";
  const RecordSizes& layout = g_callback_state.layout;
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), sizeof(CUpti_ActivityKernel10));
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_MEMCPY), sizeof(CUpti_ActivityMemcpy6));
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_MEMCPY2), sizeof(CUpti_ActivityMemcpyPtoP4));
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_MEMSET), sizeof(CUpti_ActivityMemset4));
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_RUNTIME), sizeof(CUpti_ActivityAPI));
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_OVERHEAD), sizeof(CUpti_ActivityOverhead3));
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), sizeof(CUpti_ActivitySynchronization2));
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), sizeof(CUpti_ActivityGraphTrace2));
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_DEVICE), sizeof(CUpti_ActivityDevice5));
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_CONTEXT), sizeof(CUpti_ActivityContext3));
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_JIT), sizeof(CUpti_ActivityJit2));
  EXPECT_EQ(layout.of(0), 0u);
  EXPECT_EQ(layout.of(CUPTI_ACTIVITY_KIND_EVENT), 0u) << "removed in 13.0";
  EXPECT_EQ(layout.of(1u << 30), 0u);
}

TEST_F(RealCupti, NamesOfCallsAreKnown) {
  const TextView launch = api_name(wire::ApiDomain::kRuntime, 211);
  EXPECT_EQ(std::string(launch.data, launch.bytes), "cudaLaunchKernel");
  const TextView driver = api_name(wire::ApiDomain::kDriver, 307);
  EXPECT_EQ(std::string(driver.data, driver.bytes), "cuLaunchKernel");
  const TextView unknown = api_name(wire::ApiDomain::kDriver, kProbedKinds + 1900);
  EXPECT_EQ(std::string(unknown.data, unknown.bytes), "unknown_api");
}

TEST_F(RealCupti, ItsClockIsRealtime) {
  const wire::ClockSync sync = read_clocks(g_callback_state.api);
  EXPECT_NE(sync.cupti_ns, 0u);
  EXPECT_EQ(sync.flags, 0u);
  EXPECT_TRUE(is_foreign(sync.real_ns + 2'000'000'000, sync.real_ns));
  EXPECT_FALSE(is_foreign(0, sync.real_ns)) << "no answer is not a foreign clock";
}

// Through the real iterator: our own callbacks, synthetic records.
class RealIterator : public RealCupti {
 protected:
  void SetUp() override {
    RealCupti::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(g_buffers.map(64 << 10, 8));
    g_callback_state.accept_until_ns.store(wire::kNever);
    std::size_t max_records = 99;
    buffer_requested(&buffer_, &bytes_, &max_records);
    EXPECT_EQ(max_records, 0u);
  }
  void TearDown() override { g_callback_state.accept_until_ns.store(0); }

  template <typename S>
  void append(const S& record) {
    std::memcpy(buffer_ + used_, &record, sizeof record);
    used_ += g_callback_state.layout.of(record.kind);
  }
  void append_call(std::uint32_t cbid, std::uint32_t tid) {
    CUpti_ActivityAPI call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = cbid;
    call.threadId = tid;
    call.start = 1, call.end = 2;
    append(call);
  }
  void complete() { buffer_completed(nullptr, 0, buffer_, bytes_, used_); }

  fakes::InProcessSegment segment_;
  std::uint8_t* buffer_ = nullptr;
  std::size_t bytes_ = 0, used_ = 0;
};

TEST_F(RealIterator, TurnsABufferIntoRecords) {
  if (g_callback_state.layout.of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) <
      sizeof(CUpti_ActivityKernel10))
    GTEST_SKIP() << "older than the structs of our headers";
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = 100, kernel.end = 200;
  kernel.correlationId = 5;
  kernel.name = "_Z1kv";
  append(kernel);
  append_call(211, 77);
  kernel.start = kernel.end = 0;
  append(kernel);
  complete();

  const auto kernels = segment_.all<wire::KernelExec>();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(segment_.text(kernels[0].body.name_id), "_Z1kv");
  EXPECT_EQ(kernels[1].body.flags, wire::kGpuBadTime);
  ASSERT_EQ(segment_.all<wire::ApiCall>().size(), 1u);
  EXPECT_EQ(segment_.text(segment_.all<wire::ApiCall>()[0].body.name_id), "cudaLaunchKernel");
  EXPECT_EQ(segment_.counter(wire::Counter::kCuptiRecords), 3u);
  EXPECT_EQ(segment_.counter(wire::Counter::kCuptiBadTimestamp), 1u);
  EXPECT_EQ(segment_.counter(wire::Counter::kCuptiBuffers), 1u);
}

TEST_F(RealIterator, AnUnknownKindCutsTheBufferAndIsCounted) {
  append_call(211, 77);
  CUpti_ActivityAPI strange{};
  strange.kind = static_cast<CUpti_ActivityKind>(6);
  std::memcpy(buffer_ + used_, &strange, sizeof strange);
  used_ += 40;
  append_call(211, 77);
  complete();
  EXPECT_EQ(segment_.all<wire::ApiCall>().size(), 1u);
  EXPECT_EQ(segment_.counter(wire::Counter::kCuptiUnknownKind), 1u);
}

TEST_F(RealIterator, CallsOutsideTheListAreDropped) {
  append_call(211, 77);
  append_call(17, 77);  // cudaGetDevice
  complete();
  EXPECT_EQ(segment_.all<wire::ApiCall>().size(), 1u);
}

TEST_F(RealIterator, OurWorkersCallsAreDropped) {
  hot::g_state.worker_tid.store(4040);
  append_call(211, 4040);
  append_call(211, 77);
  complete();
  hot::g_state.worker_tid.store(0);
  EXPECT_EQ(segment_.all<wire::ApiCall>().size(), 1u);
}

TEST_F(RealIterator, CompletionsAfterTheEndAreCountedAndNotRead) {
  append_call(211, 77);
  g_callback_state.accept_until_ns.store(1);
  complete();
  EXPECT_TRUE(segment_.all<wire::ApiCall>().empty());
  EXPECT_EQ(segment_.counter(wire::Counter::kCuptiAfterStop), 1u);
}

TEST_F(RealIterator, AnEmptyBufferIsNoLoss) {
  complete();
  EXPECT_EQ(segment_.counter(wire::Counter::kCuptiBuffers), 1u);
  EXPECT_EQ(segment_.counter(wire::Counter::kCuptiAfterStop), 0u);
}

}  // namespace
}  // namespace gpuprof::cupti
