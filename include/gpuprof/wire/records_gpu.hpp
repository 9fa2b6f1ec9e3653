// SPDX-License-Identifier: Apache-2.0
//
// Records of the GPU: API calls from callbacks, and everything from CUPTI's activity buffers.
//
// Context:  any
// Promises: as records.hpp
#pragma once

#include <cstdint>

#include "gpuprof/wire/kinds.hpp"

namespace gpuprof::wire {

/// API callback at entry, on the calling thread: who launched, from where.
struct Launch {
  static constexpr Kind kKind = Kind::kLaunch;
  std::uint64_t ts_ns;
  std::uint64_t stack_id;  // 0: not taken
  std::uint32_t correlation;
  std::uint16_t api;    // ApiDomain
  std::uint16_t flags;  // kLaunch…
  std::uint32_t cbid;
  std::uint32_t tid;
  std::uint32_t op_id;  // of the innermost operator open on this thread, as OpEnd::outer
  std::uint32_t reserved;
};
inline constexpr std::uint16_t kLaunchDeviceWork =
    1;  // a kernel or a graph: GPU records are to follow
inline constexpr std::uint16_t kLaunchCaptured = 2;  // perhaps into a graph: one was being captured
inline constexpr std::uint16_t kLaunchGraph = 4;     // of a graph
inline constexpr std::uint16_t kLaunchCaptureBegins = 8;  // none: what follows goes into a graph …
inline constexpr std::uint16_t kLaunchCaptureEnds = 16;   // … up to this
enum class ApiDomain : std::uint16_t { kDriver = 1, kRuntime = 2 };

// ---- From here on start_ns/end_ns are on the CUPTI clock; the daemon converts (ClockSync). ----

/// One outermost call of CUDA's runtime or driver API: from our callbacks at its entry and its
/// exit, on CLOCK_MONOTONIC (kApiMonotonicClock), or from a record of CUPTI.
struct ApiCall {
  static constexpr Kind kKind = Kind::kApiCall;
  std::uint64_t start_ns, end_ns;
  std::uint64_t name_id;  // StringDef: function name without version suffix
  std::uint32_t cbid;
  std::uint32_t api;  // ApiDomain
  std::uint32_t correlation;
  std::uint32_t tid;
  std::int32_t result;
  std::uint32_t flags;  // kApi…
};
inline constexpr std::uint32_t kApiMonotonicClock = 1;

/// One kernel execution. name_id: StringDef with the mangled name.
struct KernelExec {
  static constexpr Kind kKind = Kind::kKernelExec;
  std::uint64_t start_ns, end_ns;
  std::uint64_t name_id;
  std::uint64_t graph_node;  // 0: not from a graph
  std::uint32_t graph;
  std::uint32_t correlation;
  std::uint32_t device, context, stream;
  std::uint32_t grid_x, grid_y, grid_z;
  std::uint32_t block_x, block_y, block_z;
  std::uint32_t static_shared_bytes, dynamic_shared_bytes;
  std::uint32_t local_per_thread_bytes;
  std::uint32_t shared_executed_bytes;
  std::uint16_t registers;
  std::uint16_t flags;  // kGpuBadTime
  std::uint32_t channel;
  std::uint32_t reserved;
};
/// start_ns or end_ns was zero or reversed; counted, never drawn.
inline constexpr std::uint16_t kGpuBadTime = 1;

/// Copy; peer copies carry both devices. copy/memory kinds are CUPTI's values.
struct MemCopy {
  static constexpr Kind kKind = Kind::kMemCopy;
  std::uint64_t start_ns, end_ns;
  std::uint64_t bytes;
  std::uint64_t graph_node;
  std::uint32_t graph;
  std::uint32_t correlation;
  std::uint32_t device, context, stream;
  std::uint32_t dst_device;                           // = device unless a peer copy
  std::uint8_t copy_kind, src_kind, dst_kind, flags;  // flags: bit 0 asynchronous, bit 1 bad time
  std::uint32_t reserved;
};
struct MemSet {
  static constexpr Kind kKind = Kind::kMemSet;
  std::uint64_t start_ns, end_ns;
  std::uint64_t bytes;
  std::uint64_t graph_node;
  std::uint32_t graph;
  std::uint32_t correlation;
  std::uint32_t device, context, stream;
  std::uint32_t value;
  std::uint16_t memory_kind;
  std::uint16_t flags;  // bit 1 bad time
  std::uint32_t reserved;
};
struct Sync {
  static constexpr Kind kKind = Kind::kSync;
  std::uint64_t start_ns, end_ns;
  std::uint32_t type;  // 1 event, 2 stream-wait-event, 3 stream, 4 context
  std::uint32_t correlation;
  std::uint32_t context, stream;  // 0xffffffff: not applicable
  std::uint32_t event;
  std::uint32_t reserved;
};
struct Overhead {
  static constexpr Kind kKind = Kind::kOverhead;
  std::uint64_t start_ns, end_ns;
  std::uint32_t overhead_kind;  // CUPTI's value
  std::uint32_t object_kind;    // 1 process, 2 thread, …
  std::uint32_t process_or_thread;
  std::uint32_t correlation;
};
struct ContextInfo {
  static constexpr Kind kKind = Kind::kContextInfo;
  std::uint32_t context, device;
  std::uint32_t null_stream;
  std::uint32_t api_kind;
};
struct StreamInfo {
  static constexpr Kind kKind = Kind::kStreamInfo;
  std::uint32_t context, stream;
  std::int32_t priority;
  std::uint32_t flags;
};
/// Device properties, from the CUPTI device record and driver attributes. Unknown values are 0.
/// name_id: StringDef.
struct DeviceInfo {
  static constexpr Kind kKind = Kind::kDeviceInfo;
  std::uint64_t name_id;
  std::uint64_t total_memory_bytes;
  std::uint8_t uuid[16];
  std::uint32_t device;
  std::uint32_t compute_major, compute_minor;
  std::uint32_t sm_count, warp_size;
  std::uint32_t max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
  std::uint32_t registers_per_block, registers_per_sm;
  std::uint32_t shared_per_block_bytes, shared_per_sm_bytes;
  std::uint32_t shared_per_block_optin_bytes, shared_reserved_bytes;
  std::uint32_t clock_khz, memory_clock_khz;
  std::uint32_t memory_bus_bits, l2_bytes;
};
/// Graph-level record (--cuda-graph graph).
struct GraphExec {
  static constexpr Kind kKind = Kind::kGraphExec;
  std::uint64_t start_ns, end_ns;
  std::uint32_t graph, correlation;
  std::uint32_t device, context, stream;
  std::uint32_t reserved;
};
struct JitActivity {
  static constexpr Kind kKind = Kind::kJit;
  std::uint64_t start_ns, end_ns;
  std::uint32_t entry_type, operation;
  std::uint32_t device, correlation;
  std::uint32_t tid, reserved;
};

}  // namespace gpuprof::wire
