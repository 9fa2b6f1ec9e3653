// SPDX-License-Identifier: Apache-2.0
//
// The objects behind driver handles: devices, contexts, streams, events, modules, graphs.
//
// Context:  any
// Owns:     every object until the process ends; a destroyed object only changes its magic
// Promises: a stale or foreign handle is recognised by its magic, not by a crash
// Not here: their behaviour (timeline.hpp, stream_queue.hpp, graphs.hpp, memory.hpp)
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device_model.hpp"
#include "core/work/operations.hpp"

namespace gpusim {

struct Context;
struct Stream;
struct Graph;
struct QueueItem;

constexpr std::uint32_t kLive = 0x51614750;
constexpr std::uint32_t kDead = 0xdeadbeef;
constexpr int kQueueLimit = 1024;
constexpr std::uint32_t kDefaultStreamId = 7;
/// A time that is not known yet.
constexpr std::uint64_t kNever = ~std::uint64_t{0};

struct Device {
  int ordinal;   ///< among the visible ones
  int physical;  ///< in the machine: UUID and bus id follow it
  DeviceModel model;
  char name[96];
  unsigned char uuid[16];
  std::uint64_t total_bytes;
  std::atomic<std::uint64_t> used_bytes;
  std::mutex mutex;  ///< guards the timeline and the queue of every stream on the device
  std::vector<Stream*> waiting;  ///< streams whose queue is not empty
  Context* primary;
  int primary_references;
  unsigned primary_flags;
};

/// A capture in progress, shared by the streams that joined it.
struct Capture {
  Graph* graph;
  Stream* origin;
  std::uint64_t id;
  std::vector<Stream*> members;
  bool ended = false;
};

struct Stream {
  std::uint32_t magic = kLive;
  std::uint32_t id = 0;
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  bool non_blocking = false;
  std::uint64_t tail_ns = 0;
  std::uint64_t enqueued = 0;
  std::uint64_t ends[kQueueLimit] = {};
  std::deque<QueueItem*> queue;  ///< what cannot be placed yet, oldest first; most often empty
  Capture* capture = nullptr;
  std::vector<std::uint32_t> capture_tail;  ///< nodes the next captured node depends on
};

struct Context {
  std::uint32_t magic = kLive;
  std::uint32_t id = 0;
  Device* device = nullptr;
  unsigned flags = 0;
  bool primary = false;
  Stream null_stream;
  std::vector<Stream*> streams;
  std::uint64_t blocking_tail_ns = 0;  ///< latest end on any stream that honours the default stream
  std::uint64_t last_tail_ns = 0;      ///< latest end on any stream
  std::uint32_t next_stream_id = 13;
};

/// One recording of an event that waits in a stream's queue.
struct EventMark {
  std::atomic<bool> known{false};
  std::uint64_t time_ns = 0;
};

struct Event {
  std::uint32_t magic = kLive;
  std::uint32_t id = 0;
  Context* context = nullptr;
  unsigned flags = 0;
  bool recorded = false;
  std::uint64_t time_ns = 0;        ///< kNever while the recording waits in a queue
  std::shared_ptr<EventMark> mark;  ///< that recording
  std::uint64_t sync_id = 0;
  std::uint32_t stream_id = 0;
  Capture* capture = nullptr;
  std::vector<std::uint32_t> capture_tail;
};

struct Module;

struct Function {
  std::uint32_t magic = kLive;
  Module* module = nullptr;
  const char* name = nullptr;
  std::uint16_t registers = 32;
  std::uint32_t static_smem = 0;
  int max_dynamic_smem = 49152;
  int max_threads = 1024;  ///< of one block
  std::uint32_t local_bytes = 0;
  int architecture = 0;  ///< of the cubin its figures come from, 90 for sm_90; 0 = invented
};

struct ModuleImage;

struct Module {
  std::uint32_t magic = kLive;
  Context* context = nullptr;
  std::vector<Function*> functions;
  ModuleImage* image =
      nullptr;  ///< what the driver read (cuda/modules.hpp); null for the runtime's
};

/// One step of a graph; `op` holds everything but times and ids of the launch.
struct GraphNode {
  std::uint32_t magic = kLive;
  Graph* graph = nullptr;
  std::uint64_t id = 0;
  DeviceOp op{};
  Effect effect{};
  HostFunction function{};
  std::vector<std::uint32_t> dependencies;
};

/// Something a graph and the executable graphs made from it keep; detached with the last of them.
struct GraphReference {
  void (*release)(void* what, std::uint64_t count);
  void* what;
  std::uint64_t count;
  ~GraphReference() { release(what, count); }
};

struct Graph {
  std::uint32_t magic = kLive;
  std::uint32_t id = 0;
  std::vector<GraphNode*> nodes;
  std::vector<std::shared_ptr<GraphReference>> holds;
};

struct GraphExec {
  std::uint32_t magic = kLive;
  std::uint32_t id = 0;
  std::vector<GraphNode*> nodes;
  std::vector<std::shared_ptr<GraphReference>> holds;
};

/// Whether `object` is a live handle of its type.
template <typename T>
bool live(const T* object) {
  return object != nullptr && object->magic == kLive;
}

}  // namespace gpusim
