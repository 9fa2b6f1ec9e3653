// SPDX-License-Identifier: Apache-2.0
//
// Records of every release, built with NVIDIA's own structs, read by our offsets.
//
// Context:  tests
#include "inject/cupti/activity/translate.hpp"
#include "inject/cupti/activity/graph_devices.hpp"

#include <cupti.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace gpuprof::cupti {
namespace {

template <typename S>
RawRecord raw(const S& record, std::uint32_t version = 130001) {
  return {reinterpret_cast<const std::byte*>(&record), sizeof(S), version};
}

// What the versions of one family have in common; the tails are set where they exist.
template <typename S>
S some_kernel() {
  S from{};
  from.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  from.registersPerThread = 40;
  from.start = 1000;
  from.end = 2500;
  from.deviceId = 1;
  from.contextId = 2;
  from.streamId = 7;
  from.gridX = 10, from.gridY = 20, from.gridZ = 30;
  from.blockX = 32, from.blockY = 4, from.blockZ = 2;
  from.staticSharedMemory = 111;
  from.dynamicSharedMemory = 222;
  from.localMemoryPerThread = 333;
  from.correlationId = 4444;
  from.name = "_Z6kernelv";
  if constexpr (requires { from.sharedMemoryExecuted; }) from.sharedMemoryExecuted = 555;
  if constexpr (requires { from.graphNodeId; }) from.graphNodeId = 0x500000006;
  if constexpr (requires { from.graphId; }) from.graphId = 5;
  if constexpr (requires { from.channelID; }) from.channelID = 9;
  return from;
}

template <typename S>
class KernelVersions : public ::testing::Test {};
using Kernels =
    ::testing::Types<CUpti_ActivityKernel4, CUpti_ActivityKernel5, CUpti_ActivityKernel6,
                     CUpti_ActivityKernel7, CUpti_ActivityKernel8, CUpti_ActivityKernel9,
                     CUpti_ActivityKernel10>;
TYPED_TEST_SUITE(KernelVersions, Kernels);

TYPED_TEST(KernelVersions, GiveTheSameFields) {
  const TypeParam from = some_kernel<TypeParam>();
  wire::KernelExec to;
  const char* name = nullptr;
  EXPECT_EQ(translate_kernel(raw(from), &to, &name), TimestampState::kGood);
  EXPECT_STREQ(name, "_Z6kernelv");
  EXPECT_EQ(to.start_ns, 1000u);
  EXPECT_EQ(to.end_ns, 2500u);
  EXPECT_EQ(to.device, 1u);
  EXPECT_EQ(to.context, 2u);
  EXPECT_EQ(to.stream, 7u);
  EXPECT_EQ(to.grid_x, 10u);
  EXPECT_EQ(to.grid_y, 20u);
  EXPECT_EQ(to.grid_z, 30u);
  EXPECT_EQ(to.block_x, 32u);
  EXPECT_EQ(to.block_y, 4u);
  EXPECT_EQ(to.block_z, 2u);
  EXPECT_EQ(to.static_shared_bytes, 111u);
  EXPECT_EQ(to.dynamic_shared_bytes, 222u);
  EXPECT_EQ(to.local_per_thread_bytes, 333u);
  EXPECT_EQ(to.shared_executed_bytes, 555u);
  EXPECT_EQ(to.correlation, 4444u);
  EXPECT_EQ(to.registers, 40u);
  EXPECT_EQ(to.flags, 0u);
  const bool graphs = sizeof(TypeParam) >= sizeof(CUpti_ActivityKernel5);
  EXPECT_EQ(to.graph_node, graphs ? 0x500000006u : 0u);
  EXPECT_EQ(to.graph, graphs ? 5u : 0u);
  EXPECT_EQ(to.channel, sizeof(TypeParam) >= sizeof(CUpti_ActivityKernel7) ? 9u : 0u);
}

TEST(Translate, PaddingOfCuda110IsNotAGraphId) {
  const auto from = some_kernel<CUpti_ActivityKernel5>();
  wire::KernelExec to;
  const char* name;
  translate_kernel(raw(from, 13), &to, &name);
  EXPECT_EQ(to.graph, 0u);
  translate_kernel(raw(from, 14), &to, &name);
  EXPECT_EQ(to.graph, 5u);
}

TEST(Translate, ALongerRecordOfTheFutureIsReadByItsPrefix) {
  std::byte bytes[320];
  std::memset(bytes, 0xAB, sizeof bytes);
  const auto from = some_kernel<CUpti_ActivityKernel10>();
  std::memcpy(bytes, &from, sizeof from);
  wire::KernelExec to;
  const char* name;
  EXPECT_EQ(translate_kernel({bytes, sizeof bytes, 140000}, &to, &name), TimestampState::kGood);
  EXPECT_EQ(to.correlation, 4444u);
  EXPECT_EQ(to.graph, 5u);
}

TEST(Translate, TimesAreJudged) {
  EXPECT_EQ(classify_timestamps(5, 9), TimestampState::kGood);
  EXPECT_EQ(classify_timestamps(5, 5), TimestampState::kGood);
  EXPECT_EQ(classify_timestamps(0, 0), TimestampState::kBad);
  EXPECT_EQ(classify_timestamps(9, 5), TimestampState::kBad);
  EXPECT_EQ(classify_timestamps(0, 5), TimestampState::kBad);
  EXPECT_EQ(classify_timestamps(5, 0), TimestampState::kIncomplete);
}

TEST(Translate, BadTimesAreFlaggedNotChanged) {
  auto from = some_kernel<CUpti_ActivityKernel10>();
  from.start = 2500;
  from.end = 1000;
  wire::KernelExec to;
  const char* name;
  EXPECT_EQ(translate_kernel(raw(from), &to, &name), TimestampState::kBad);
  EXPECT_EQ(to.flags, wire::kGpuBadTime);
  EXPECT_EQ(to.start_ns, 2500u);
}

template <typename S>
class CopyVersions : public ::testing::Test {};
using Copies = ::testing::Types<CUpti_ActivityMemcpy, CUpti_ActivityMemcpy3, CUpti_ActivityMemcpy4,
                                CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6>;
TYPED_TEST_SUITE(CopyVersions, Copies);

TYPED_TEST(CopyVersions, GiveTheSameFields) {
  TypeParam from{};
  from.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  from.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  from.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  from.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  from.bytes = 1ull << 33;
  from.start = 10, from.end = 20;
  from.deviceId = 3, from.contextId = 4, from.streamId = 5;
  from.correlationId = 66;
  if constexpr (requires { from.graphNodeId; }) from.graphNodeId = 77;
  if constexpr (requires { from.graphId; }) from.graphId = 88;
  wire::MemCopy to;
  EXPECT_EQ(translate_memcpy(raw(from), &to), TimestampState::kGood);
  EXPECT_EQ(to.copy_kind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  EXPECT_EQ(to.src_kind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
  EXPECT_EQ(to.dst_kind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(to.flags, kCopyAsync);
  EXPECT_EQ(to.bytes, 1ull << 33);
  EXPECT_EQ(to.device, 3u);
  EXPECT_EQ(to.dst_device, 3u);
  EXPECT_EQ(to.context, 4u);
  EXPECT_EQ(to.stream, 5u);
  EXPECT_EQ(to.correlation, 66u);
  EXPECT_EQ(to.graph_node, sizeof(TypeParam) >= 72 ? 77u : 0u);
  EXPECT_EQ(to.graph, sizeof(TypeParam) >= 80 ? 88u : 0u);
}

template <typename S>
class PeerVersions : public ::testing::Test {};
using Peers = ::testing::Types<CUpti_ActivityMemcpyPtoP, CUpti_ActivityMemcpyPtoP2,
                               CUpti_ActivityMemcpyPtoP3, CUpti_ActivityMemcpyPtoP4>;
TYPED_TEST_SUITE(PeerVersions, Peers);

TYPED_TEST(PeerVersions, GiveBothDevicesAndTheirOwnCorrelationPlace) {
  TypeParam from{};
  from.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  from.bytes = 4096;
  from.start = 10, from.end = 20;
  from.deviceId = 0, from.contextId = 1, from.streamId = 7;
  from.srcDeviceId = 0, from.srcContextId = 1;
  from.dstDeviceId = 2, from.dstContextId = 3;
  from.correlationId = 66;
  if constexpr (requires { from.graphNodeId; }) from.graphNodeId = 77;
  if constexpr (requires { from.graphId; }) from.graphId = 88;
  wire::MemCopy to;
  EXPECT_EQ(translate_memcpy_peer(raw(from), &to), TimestampState::kGood);
  EXPECT_EQ(to.device, 0u);
  EXPECT_EQ(to.dst_device, 2u);
  EXPECT_EQ(to.correlation, 66u);
  EXPECT_EQ(to.graph_node, sizeof(TypeParam) >= 80 ? 77u : 0u);
  EXPECT_EQ(to.graph, sizeof(TypeParam) >= 88 ? 88u : 0u);
}

template <typename S>
class SetVersions : public ::testing::Test {};
using Sets = ::testing::Types<CUpti_ActivityMemset, CUpti_ActivityMemset2, CUpti_ActivityMemset3,
                              CUpti_ActivityMemset4>;
TYPED_TEST_SUITE(SetVersions, Sets);

TYPED_TEST(SetVersions, GiveTheSameFields) {
  TypeParam from{};
  from.value = 0xAB;
  from.bytes = 512;
  from.start = 10, from.end = 20;
  from.deviceId = 3, from.contextId = 4, from.streamId = 5;
  from.correlationId = 66;
  from.flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC;
  from.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  if constexpr (requires { from.graphNodeId; }) from.graphNodeId = 77;
  if constexpr (requires { from.graphId; }) from.graphId = 88;
  wire::MemSet to;
  EXPECT_EQ(translate_memset(raw(from), &to), TimestampState::kGood);
  EXPECT_EQ(to.value, 0xABu);
  EXPECT_EQ(to.bytes, 512u);
  EXPECT_EQ(to.device, 3u);
  EXPECT_EQ(to.stream, 5u);
  EXPECT_EQ(to.correlation, 66u);
  EXPECT_EQ(to.memory_kind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(to.flags, kCopyAsync);
  EXPECT_EQ(to.graph_node, sizeof(TypeParam) >= 72 ? 77u : 0u);
  EXPECT_EQ(to.graph, sizeof(TypeParam) >= 80 ? 88u : 0u);
}

template <typename S>
class OverheadVersions : public ::testing::Test {};
using Overheads =
    ::testing::Types<CUpti_ActivityOverhead, CUpti_ActivityOverhead2, CUpti_ActivityOverhead3>;
TYPED_TEST_SUITE(OverheadVersions, Overheads);

TYPED_TEST(OverheadVersions, NameTheThread) {
  TypeParam from{};
  from.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  from.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  from.objectId.pt.processId = 100;
  from.objectId.pt.threadId = 101;
  from.start = 10, from.end = 20;
  if constexpr (requires { from.correlationId; }) from.correlationId = 66;
  wire::Overhead to;
  translate_overhead(raw(from), &to);
  EXPECT_EQ(to.overhead_kind,
            static_cast<std::uint32_t>(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH));
  EXPECT_EQ(to.process_or_thread, 101u);
  EXPECT_EQ(to.start_ns, 10u);
  EXPECT_EQ(to.end_ns, 20u);
  EXPECT_EQ(to.correlation, sizeof(TypeParam) >= 48 ? 66u : 0u);
  from.objectKind = CUPTI_ACTIVITY_OBJECT_PROCESS;
  translate_overhead(raw(from), &to);
  EXPECT_EQ(to.process_or_thread, 100u);
}

TEST(Translate, ApiCall) {
  CUpti_ActivityAPI from{};
  from.cbid = 307;
  from.start = 10, from.end = 20;
  from.processId = 1, from.threadId = 2;
  from.correlationId = 3;
  from.returnValue = 700;
  wire::ApiCall to;
  translate_api(raw(from), wire::ApiDomain::kDriver, &to);
  EXPECT_EQ(to.cbid, 307u);
  EXPECT_EQ(to.tid, 2u);
  EXPECT_EQ(to.correlation, 3u);
  EXPECT_EQ(to.result, 700);
  EXPECT_EQ(to.api, static_cast<std::uint32_t>(wire::ApiDomain::kDriver));
}

TEST(Translate, SynchronizationOfBothLengths) {
  CUpti_ActivitySynchronization2 from{};
  from.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  from.start = 10, from.end = 20;
  from.correlationId = 3, from.contextId = 4, from.streamId = 5, from.cudaEventId = 6;
  for (const std::uint16_t bytes : {std::uint16_t{40}, std::uint16_t{56}}) {
    wire::Sync to;
    translate_sync({reinterpret_cast<const std::byte*>(&from), bytes, 27}, &to);
    EXPECT_EQ(to.type,
              static_cast<std::uint32_t>(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE));
    EXPECT_EQ(to.correlation, 3u);
    EXPECT_EQ(to.stream, 5u);
    EXPECT_EQ(to.event, 6u);
  }
}

TEST(Translate, ContextAndStream) {
  CUpti_ActivityContext3 context{};
  context.contextId = 1, context.deviceId = 2, context.nullStreamId = 7;
  context.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  wire::ContextInfo c;
  translate_context(raw(context), &c);
  EXPECT_EQ(c.context, 1u);
  EXPECT_EQ(c.device, 2u);
  EXPECT_EQ(c.null_stream, 7u);
  CUpti_ActivityStream stream{};
  stream.contextId = 1, stream.streamId = 13;
  stream.priority = static_cast<std::uint32_t>(-5);
  wire::StreamInfo s;
  translate_stream(raw(stream), &s);
  EXPECT_EQ(s.stream, 13u);
  EXPECT_EQ(s.priority, -5);
}

TEST(Translate, GraphLaunchOfBothLengths) {
  CUpti_ActivityGraphTrace2 from{};
  from.correlationId = 1, from.start = 10, from.end = 20, from.deviceId = 2;
  from.graphId = 3, from.contextId = 4, from.streamId = 5;
  wire::GraphExec to;
  EXPECT_EQ(translate_graph(raw(from), &to), TimestampState::kGood);
  EXPECT_EQ(to.graph, 3u);
  EXPECT_EQ(to.device, 2u);
  EXPECT_EQ(to.stream, 5u);
}

TEST(Translate, AGraphThatBeginsOnTheHostIsWhereItEnds) {
  CUpti_ActivityGraphTrace2 from{};
  from.deviceId = from.contextId = kNoDevice;
  from.endDeviceId = 2, from.endContextId = 4;
  wire::GraphExec to;
  translate_graph(raw(from), &to);
  EXPECT_EQ(to.device, 2u);
  EXPECT_EQ(to.context, 4u);
  // Before CUDA 12.3 nothing tells where it ends.
  translate_graph({reinterpret_cast<const std::byte*>(&from), 48, 20}, &to);
  EXPECT_EQ(to.device, kNoDevice);
}

TEST(Translate, DeviceUsesTheMigSlicesOwnId) {
  CUpti_ActivityDevice5 from{};
  from.id = 1;
  from.globalMemorySize = 80ull << 30;
  from.numMultiprocessors = 132;
  from.numThreadsPerWarp = 32;
  from.maxWarpsPerMultiprocessor = 64;
  from.computeCapabilityMajor = 9;
  from.coreClockRate = 1980000;
  from.name = "A device";
  std::memset(&from.uuid, 0x11, sizeof from.uuid);
  std::memset(&from.migUuid, 0x22, sizeof from.migUuid);
  wire::DeviceInfo to;
  const char* name;
  translate_device(raw(from), &to, &name);
  EXPECT_STREQ(name, "A device");
  EXPECT_EQ(to.device, 1u);
  EXPECT_EQ(to.total_memory_bytes, 80ull << 30);
  EXPECT_EQ(to.sm_count, 132u);
  EXPECT_EQ(to.max_threads_per_sm, 2048u);
  EXPECT_EQ(to.compute_major, 9u);
  EXPECT_EQ(to.clock_khz, 1980000u);
  EXPECT_EQ(to.uuid[0], 0x11);
  from.isMigEnabled = 1;
  translate_device(raw(from), &to, &name);
  EXPECT_EQ(to.uuid[0], 0x22);
  EXPECT_EQ(to.uuid[15], 0x22);
}

TEST(Translate, JitOfBothLengths) {
  CUpti_ActivityJit2 from{};
  from.jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN;
  from.start = 10, from.end = 20, from.deviceId = 1, from.correlationId = 9;
  from.threadId = 55;
  wire::JitActivity to;
  translate_jit(raw(from), &to);
  EXPECT_EQ(to.entry_type, static_cast<std::uint32_t>(CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN));
  EXPECT_EQ(to.tid, 55u);
  translate_jit({reinterpret_cast<const std::byte*>(&from), 64, 18}, &to);
  EXPECT_EQ(to.tid, 0u);
  EXPECT_EQ(to.end_ns, 20u);
}

TEST(Translate, NeverReadsBeyondTheRecord) {
  // Each size on its own heap block: a sanitizer build sees the first byte too many.
  std::mt19937 random(7);
  for (std::uint16_t bytes = 4; bytes <= 260; bytes = static_cast<std::uint16_t>(bytes + 4)) {
    std::vector<std::byte> block(bytes);
    for (std::byte& byte : block) byte = static_cast<std::byte>(random());
    const RawRecord from{block.data(), bytes, 130001};
    const char* name;
    wire::KernelExec kernel;
    translate_kernel(from, &kernel, &name);
    wire::MemCopy copy;
    translate_memcpy(from, &copy);
    translate_memcpy_peer(from, &copy);
    wire::MemSet set;
    translate_memset(from, &set);
    wire::DeviceInfo device;
    translate_device(from, &device, &name);
    wire::JitActivity jit;
    translate_jit(from, &jit);
    if (bytes < 112) {
      EXPECT_EQ(name, nullptr) << "a pointer that was not in the record";
    }
  }
}

}  // namespace
}  // namespace gpuprof::cupti
