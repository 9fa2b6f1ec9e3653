// SPDX-License-Identifier: Apache-2.0
//
// Plain descriptions of what the simulated device does and what a program asked for.
//
// Context:  any
// Owns:     nothing; names are interned and live for ever
// Promises: trivially copyable; all times CLOCK_MONOTONIC nanoseconds
// Not here: CUPTI record layouts (cupti/records.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpusim {

enum class OpKind : std::uint8_t { kKernel, kMemcpy, kPeerCopy, kMemset, kHostFunction };

/// Values as in CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
enum CopyKind : std::uint8_t { kHtoD = 1, kDtoH = 2, kDtoD = 8, kHtoH = 9, kPtoP = 10 };
enum MemoryKind : std::uint8_t { kPageable = 1, kPinned = 2, kDeviceMemory = 3, kManaged = 5 };

/// One thing a stream does. `start_ns` and `end_ns` are fixed when it is placed, most often at
/// enqueue.
struct DeviceOp {
  OpKind kind;
  bool async;
  std::uint8_t copy_kind, src_kind, dst_kind;
  bool cooperative;
  std::uint16_t registers;
  std::uint32_t device, context, stream, correlation;
  std::int32_t priority;
  std::uint64_t start_ns, end_ns;
  const char* name;
  std::uint32_t grid[3], block[3], cluster[3];
  std::uint32_t static_smem, dynamic_smem;
  std::uint64_t grid_id;
  std::uint64_t bytes;
  std::uint32_t value;
  std::uint32_t src_device, src_context, dst_device, dst_context;
  std::uint32_t graph_id;
  std::uint64_t graph_node_id;
  double flops, peak_tflops, traffic_bytes;  ///< of library kernels; 0 = judge by the shape
  std::uint64_t length_ns;                   ///< known beforehand; 0 = the timing model
  std::uint32_t wanted_by;  ///< bit N: client N of CUPTI wants a record; decided at enqueue
};

/// Bytes that an operation moves or sets when its turn on the stream comes. `rows` > 1 is a 2D
/// copy.
struct Effect {
  std::uintptr_t to = 0, from = 0;
  std::size_t bytes = 0;  ///< of one row; 0 = no effect
  std::size_t rows = 1, to_pitch = 0, from_pitch = 0;
  int width = 0;  ///< 0 = move, else set elements of 1, 2 or 4 bytes to `value`
  std::uint32_t value = 0;
};

/// A function of the program that a stream calls when its turn comes.
struct HostFunction {
  void (*call)(void*) = nullptr;
  void* user = nullptr;
};

/// Values as in CUpti_ActivitySynchronizationType.
enum class SyncKind : std::uint8_t { kEvent = 1, kStreamWaitEvent = 2, kStream = 3, kContext = 4 };

/// One wait of the host (or of a stream, for kStreamWaitEvent).
struct SyncOp {
  SyncKind kind;
  std::uint32_t context, stream, event, correlation;
  std::uint64_t event_sync_id;
  std::uint64_t start_ns, end_ns;
  int result;
};

/// One launch of a whole graph.
struct GraphLaunchOp {
  std::uint32_t device, context, stream, correlation, graph_id;
  std::uint64_t start_ns, end_ns;
  std::uint32_t wanted_by;  ///< as in DeviceOp
};

enum class ApiDomain : std::uint8_t { kDriver = 1, kRuntime = 2 };

/// One API call in progress. `tool_data` belongs to the attached tool for the length of the call.
struct ApiCall {
  ApiDomain domain;
  std::uint32_t cbid;
  const char* name;
  const void* params;
  const char* symbol;
  void* context;
  std::uint32_t context_uid;
  std::uint32_t correlation;
  std::uint64_t start_ns, end_ns;
  int result;
  bool reported;
  std::uint64_t tool_data;
};

/// Values as in CUpti_CallbackIdResource.
enum class ResourceId : std::uint32_t {
  kContextCreated = 1,
  kContextDestroyStarting = 2,
  kStreamCreated = 3,
  kStreamDestroyStarting = 4,
  kInitFinished = 5,
  kModuleLoaded = 6,
  kModuleUnloadStarting = 7,
  kGraphCreated = 9,
  kGraphDestroyStarting = 10,
  kGraphNodeCreated = 13,
  kGraphExecCreateStarting = 17,
  kGraphExecCreated = 18,
  kGraphExecDestroyStarting = 19,
  kGraphNodeCloned = 20,
};

/// One created or destroyed object; unused handles are null.
struct ResourceEvent {
  ResourceId id;
  void* context;
  void* stream;
  void* graph;
  void* original_graph;
  void* node;
  void* original_node;
  void* graph_exec;
  int node_type;
};

}  // namespace gpusim
