// SPDX-License-Identifier: Apache-2.0
//
// Record construction.
//
// Context:  any
// Owns:     nothing
// Promises: see records.hpp
// Not here: scenarios that spoil records (scenario.cpp)
#include "cupti/records.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include <cupti.h>

#include "core/clock.hpp"
#include "core/config.hpp"
#include "core/driver.hpp"
#include "core/objects.hpp"
#include "cupti/cupti_clock.hpp"
#include "cupti/state.hpp"

namespace gpusim {
namespace {

constexpr unsigned char kTailFiller = 0xA5;

/// The real CUPTI makes no system call for a record.
std::uint32_t process_id() {
  const int known = forked_child() ? 0 : driver().pid;
  return static_cast<std::uint32_t>(known != 0 ? known : getpid());
}

/// Cuts or extends `source` to the emulated size.
template <typename T>
Record finish(const T& source, std::uint32_t kind) {
  Record r{};
  r.kind = kind;
  r.bytes = static_cast<std::uint32_t>(record_size(kind));
  if (r.bytes > sizeof(T)) std::memset(r.data + sizeof(T), kTailFiller, r.bytes - sizeof(T));
  std::memcpy(r.data, &source, std::min<std::size_t>(sizeof(T), r.bytes));
  return r;
}

/// Writes a field that the headers at hand do not have yet, where the emulated record has it; what
/// fills its 8 bytes up is zero.
template <typename T>
void put_later(Record& r, std::size_t at, T value) {
  static_assert(sizeof value <= 8);
  if (r.bytes < at + 8) return;
  std::memset(r.data + at, 0, 8);
  std::memcpy(r.data + at, &value, sizeof value);
}

template <typename R>
void put_times(R& record, std::uint64_t start_ns, std::uint64_t end_ns) {
  const TimeSpan ends = to_cupti(start_ns, end_ns);
  record.start = ends.start;
  record.end = ends.end;
}

Record kernel(const DeviceOp& op, std::uint32_t kind, const char* name) {
  CUpti_ActivityKernel10 k{};
  k.kind = static_cast<CUpti_ActivityKind>(kind);
  k.registersPerThread = op.registers;
  put_times(k, op.start_ns, op.end_ns);
  k.completed = k.end;
  k.deviceId = op.device;
  k.contextId = op.context;
  k.streamId = op.stream;
  k.gridX = static_cast<std::int32_t>(op.grid[0]);
  k.gridY = static_cast<std::int32_t>(op.grid[1]);
  k.gridZ = static_cast<std::int32_t>(op.grid[2]);
  k.blockX = static_cast<std::int32_t>(op.block[0]);
  k.blockY = static_cast<std::int32_t>(op.block[1]);
  k.blockZ = static_cast<std::int32_t>(op.block[2]);
  k.staticSharedMemory = static_cast<std::int32_t>(op.static_smem);
  k.dynamicSharedMemory = static_cast<std::int32_t>(op.dynamic_smem);
  k.sharedMemoryExecuted = 102400;
  k.correlationId = op.correlation;
  k.gridId = static_cast<std::int64_t>(op.grid_id);
  k.name = name;
  k.launchType = op.cooperative ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
                                : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
  k.graphNodeId = op.graph_node_id;
  k.graphId = op.graph_id;
  k.channelID = op.stream;
  k.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  k.clusterX = op.cluster[0];
  k.clusterY = op.cluster[1];
  k.clusterZ = op.cluster[2];
  Record r = finish(k, kind);
  put_later(r, kKernelPriorityAt, op.priority);
  return r;
}

Record copy(const DeviceOp& op) {
  CUpti_ActivityMemcpy6 m{};
  m.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  m.copyKind = op.copy_kind;
  m.srcKind = op.src_kind;
  m.dstKind = op.dst_kind;
  m.flags = op.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  m.bytes = op.bytes;
  put_times(m, op.start_ns, op.end_ns);
  m.deviceId = op.device;
  m.contextId = op.context;
  m.streamId = op.stream;
  m.correlationId = op.correlation;
  m.graphNodeId = op.graph_node_id;
  m.graphId = op.graph_id;
  m.channelID = op.stream;
  m.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  m.copyCount = 1;
  return finish(m, m.kind);
}

Record peer_copy(const DeviceOp& op) {
  CUpti_ActivityMemcpyPtoP4 m{};
  m.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  m.copyKind = op.copy_kind;
  m.srcKind = op.src_kind;
  m.dstKind = op.dst_kind;
  m.flags = op.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  m.bytes = op.bytes;
  put_times(m, op.start_ns, op.end_ns);
  m.deviceId = op.device;
  m.contextId = op.context;
  m.streamId = op.stream;
  m.srcDeviceId = op.src_device;
  m.srcContextId = op.src_context;
  m.dstDeviceId = op.dst_device;
  m.dstContextId = op.dst_context;
  m.correlationId = op.correlation;
  m.graphNodeId = op.graph_node_id;
  m.graphId = op.graph_id;
  return finish(m, m.kind);
}

Record fill(const DeviceOp& op) {
  CUpti_ActivityMemset4 m{};
  m.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  m.value = op.value;
  m.bytes = op.bytes;
  put_times(m, op.start_ns, op.end_ns);
  m.deviceId = op.device;
  m.contextId = op.context;
  m.streamId = op.stream;
  m.correlationId = op.correlation;
  m.flags = op.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
  m.memoryKind = op.dst_kind;
  m.graphNodeId = op.graph_node_id;
  m.graphId = op.graph_id;
  return finish(m, m.kind);
}

}  // namespace

std::uint32_t kind_of(const DeviceOp& op) {
  switch (op.kind) {
    case OpKind::kKernel:
      return kind_on(CUPTI_ACTIVITY_KIND_KERNEL) ? CUPTI_ACTIVITY_KIND_KERNEL
                                                 : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case OpKind::kMemcpy:
      return CUPTI_ACTIVITY_KIND_MEMCPY;
    case OpKind::kPeerCopy:
      return CUPTI_ACTIVITY_KIND_MEMCPY2;
    case OpKind::kMemset:
      return CUPTI_ACTIVITY_KIND_MEMSET;
    case OpKind::kHostFunction:
      return 0;
  }
  return 0;
}

Record make_device_op(const DeviceOp& op, std::uint32_t kind, const char* name) {
  switch (op.kind) {
    case OpKind::kMemcpy:
      return copy(op);
    case OpKind::kPeerCopy:
      return peer_copy(op);
    case OpKind::kMemset:
      return fill(op);
    default:
      return kernel(op, kind, name);
  }
}

Record make_api(const ApiCall& call, std::uint32_t thread_id) {
  CUpti_ActivityAPI a{};
  a.kind =
      call.domain == ApiDomain::kDriver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
  a.cbid = call.cbid;
  put_times(a, call.start_ns, call.end_ns);
  a.processId = process_id();
  a.threadId = thread_id;
  a.correlationId = call.correlation;
  a.returnValue = static_cast<std::uint32_t>(call.result);
  return finish(a, a.kind);
}

Record make_external(std::uint32_t kind, std::uint64_t id, std::uint32_t correlation) {
  CUpti_ActivityExternalCorrelation e{};
  e.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  e.externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind);
  e.externalId = id;
  e.correlationId = correlation;
  return finish(e, e.kind);
}

Record make_sync(const SyncOp& op) {
  CUpti_ActivitySynchronization2 s{};
  s.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  s.type = static_cast<CUpti_ActivitySynchronizationType>(op.kind);
  put_times(s, op.start_ns, op.end_ns);
  s.correlationId = op.correlation;
  s.contextId = op.context;
  s.streamId = op.stream;
  s.cudaEventId = op.event;
  s.cudaEventSyncId = op.event_sync_id;
  s.returnValue = static_cast<std::uint32_t>(op.result);
  return finish(s, s.kind);
}

Record make_graph(const GraphLaunchOp& op) {
  CUpti_ActivityGraphTrace2 g{};
  g.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  g.correlationId = op.correlation;
  put_times(g, op.start_ns, op.end_ns);
  g.deviceId = g.endDeviceId = op.device;
  g.graphId = op.graph_id;
  g.contextId = g.endContextId = op.context;
  if (on(Scenario::kGraphOnHost)) g.deviceId = g.contextId = INT_MAX;
  g.streamId = op.stream;
  return finish(g, g.kind);
}

Record make_overhead(std::uint32_t what, std::uint64_t start_ns, std::uint64_t end_ns,
                     std::uint32_t correlation, std::uint32_t thread_id) {
  CUpti_ActivityOverhead3 o{};
  o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  o.overheadKind = static_cast<CUpti_ActivityOverheadKind>(what);
  o.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  o.objectId.pt.processId = process_id();
  o.objectId.pt.threadId = thread_id;
  put_times(o, start_ns, end_ns);
  o.correlationId = correlation;
  return finish(o, o.kind);
}

Record make_filler(std::uint32_t kind, std::uint32_t bytes) {
  Record r{};
  r.kind = kind;
  r.bytes = bytes;
  std::memset(r.data, kTailFiller, bytes);
  std::memcpy(r.data, &kind, sizeof kind);
  return r;
}

std::uint32_t record_thread_id() {
  if (state().thread_id_type.load(std::memory_order_relaxed) ==
      CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
    return current_tid();
  return static_cast<std::uint32_t>(pthread_self());
}

Record make_device(const Device& device) {
  CUpti_ActivityDevice5 d{};
  const DeviceModel& m = device.model;
  d.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  d.flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS;
  d.globalMemoryBandwidth = static_cast<std::uint64_t>(m.memory_gbps * 1e6);
  d.globalMemorySize = device.total_bytes;
  d.constantMemorySize = 65536;
  d.l2CacheSize = static_cast<std::uint32_t>(m.l2_bytes);
  d.numThreadsPerWarp = 32;
  d.coreClockRate = static_cast<std::uint32_t>(m.clock_khz);
  d.numMemcpyEngines = 3;
  d.numMultiprocessors = static_cast<std::uint32_t>(m.sm_count);
  d.maxIPC = 4;
  d.maxWarpsPerMultiprocessor = static_cast<std::uint32_t>(m.max_threads_per_sm / 32);
  d.maxBlocksPerMultiprocessor = static_cast<std::uint32_t>(m.max_blocks_per_sm);
  d.maxSharedMemoryPerMultiprocessor = static_cast<std::uint32_t>(m.smem_per_sm);
  d.maxRegistersPerMultiprocessor = 65536;
  d.maxRegistersPerBlock = 65536;
  d.maxSharedMemoryPerBlock = 49152;
  d.maxThreadsPerBlock = 1024;
  d.maxBlockDimX = d.maxBlockDimY = 1024;
  d.maxBlockDimZ = 64;
  d.maxGridDimX = 2147483647;
  d.maxGridDimY = d.maxGridDimZ = 65535;
  d.computeCapabilityMajor = static_cast<std::uint32_t>(m.cc_major);
  d.computeCapabilityMinor = static_cast<std::uint32_t>(m.cc_minor);
  d.id = static_cast<std::uint32_t>(device.ordinal);
  d.eccEnabled = 1;
  std::memcpy(d.uuid.bytes, device.uuid, sizeof device.uuid);
  d.name = strdup(device.name);  // the reader frees it, as with the real library
  d.isCudaVisible = 1;
  Record r = finish(d, d.kind);
  put_later(r, kDeviceTpcsAt, static_cast<std::uint32_t>(m.sm_count / 2));
  return r;
}

Record make_context(const Context& context) {
  CUpti_ActivityContext3 c{};
  c.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  c.contextId = context.id;
  c.deviceId = static_cast<std::uint32_t>(context.device->ordinal);
  c.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  c.nullStreamId = kDefaultStreamId;
  c.numMultiprocessors = static_cast<std::uint16_t>(context.device->model.sm_count);
  Record r = finish(c, c.kind);
  put_later(r, kContextProcessIdAt, std::uint64_t{process_id()});
  return r;
}

Record make_stream(const Stream& stream, std::uint32_t correlation) {
  CUpti_ActivityStream s{};
  s.kind = CUPTI_ACTIVITY_KIND_STREAM;
  s.contextId = stream.context->id;
  s.streamId = stream.id;
  s.priority = static_cast<std::uint32_t>(stream.priority);
  s.flag = stream.id == kDefaultStreamId ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
           : stream.non_blocking         ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                         : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
  s.correlationId = correlation;
  return finish(s, s.kind);
}

}  // namespace gpusim
