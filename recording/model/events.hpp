// SPDX-License-Identifier: Apache-2.0
//
// What the daemon knows about one process, free of wire and file formats: one list of events.
//
// Context:  daemon
// Owns:     nothing: strings and arrays are borrowed for the length of one call
// Promises: all times are CLOCK_MONOTONIC ns (already converted); ids are dense and per process
// Not here: how events are stored (recording/spool) or written (analysis/export)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace gpuprof::model {

/// Dense ids, 0 = none. Defined by an earlier event of the same process.
using StringId = std::uint32_t;
using StackId = std::uint32_t;
using CodeId = std::uint32_t;
using InputsId = std::uint32_t;
using TorchModuleId = std::uint32_t;
/// Identity of an operator-like range; unique and never 0 within a process.
using RangeId = std::uint64_t;

/// 0xffffffff in CUPTI's records: no such object.
inline constexpr std::uint32_t kNoObject = 0xffffffffu;

// ---- definitions: come before their first use ----

struct StringDef {
  StringId id;
  std::string_view text;
};

struct PythonFrame {
  CodeId code;  // 0: interpreter shim; with kPyModule a TorchModuleId
  std::int32_t instr_offset;
  std::uint32_t flags;  // kPyShim, kPyEntry, kPyModule
};
inline constexpr std::uint32_t kPyShim = 1;
inline constexpr std::uint32_t kPyEntry = 2;
/// Not a frame: the nn.Module whose call the frame before (further in) is.
inline constexpr std::uint32_t kPyModule = 4;

/// Innermost first; the first native entry is a program counter, the others return addresses.
struct StackDef {
  StackId id;
  std::uint32_t flags;  // kStack…
  std::span<const std::uint64_t> native;
  std::span<const PythonFrame> python;
};
inline constexpr std::uint32_t kStackNativeTruncated = 1;
inline constexpr std::uint32_t kStackPythonPartial = 2;
inline constexpr std::uint32_t kStackNativeDeep = 4;
inline constexpr std::uint32_t kStackPythonDeep = 8;
inline constexpr std::uint32_t kStackCopied = 16;
inline constexpr std::uint32_t kStackInCall = 32;
inline constexpr std::uint32_t kStackLost = 64;  // referred to, never defined

struct PythonCode {
  CodeId id;
  StringId file, name;
  std::int32_t first_line;
  std::uint16_t py_minor;
  std::uint16_t flags;  // 1: line table cut
  std::string_view line_table;
};

/// Inputs of operators: words as gpuprof/wire/operator_inputs.hpp describes them.
struct Inputs {
  InputsId id;
  std::uint32_t flags;  // kInputsTruncated
  std::span<const std::uint64_t> words;
};
inline constexpr std::uint32_t kInputsTruncated = 1;
inline constexpr std::uint32_t kInputsLost = 2;  // referred to, never defined

/// One nn.Module object.
struct TorchModule {
  TorchModuleId id;
  StringId class_name;
  std::uint64_t object;  // address
  std::uint64_t type;    // address of its class: others may be of the same name
};

struct Process {
  std::uint32_t pid, ppid;
  std::uint32_t woke;  // bits of wire::kWake…: command, cuda, nvtx, python, attach
  std::uint32_t wire_minor;
  std::uint64_t start_ns;              // when we first heard of it
  std::uint64_t start_real_ns;         // the same instant on CLOCK_REALTIME
  std::string_view exe, command_line;  // command line: arguments joined by one blank
};
struct ProcessEnd {
  std::uint64_t ts_ns;
  std::int32_t wait_status;  // -1 unknown
  std::uint32_t how;  // 0 said good-bye, 1 vanished, 2 alive at session end, 3 replaced by exec
};
struct ThreadName {
  std::uint32_t tid, flags;  // wire::kThread…
  std::uint64_t ts_ns;
  std::string_view name;
};
struct Module {
  std::uint64_t load_bias, start, end, seen_ns;
  std::string_view build_id, path;
};
struct ModuleUnload {
  std::uint64_t load_bias, start, unloaded_ns;
};
struct Domain {
  std::uint32_t domain;
  std::string_view name;
};
struct Fact {
  std::string_view key, value;
};
struct Notice {
  std::uint64_t ts_ns;
  std::uint32_t feature, level, code;
  std::string_view text;
};
/// Records lost between two instants, by reason (recording/model/loss.hpp names them).
struct Loss {
  std::uint32_t reason;
  std::uint32_t tid;
  std::uint64_t count, first_ns, last_ns;
};
struct StateChange {
  std::uint32_t state;  // wire::AgentState
  std::uint64_t ts_ns, steps, switch_ns;
};
struct ClockSnapshot {
  std::uint64_t mono_ns, real_ns, boot_ns, cupti_ns, gap_ns;
};
struct Device {
  std::uint32_t device;
  StringId name;
  std::uint64_t total_memory_bytes;
  std::array<std::uint8_t, 16> uuid;
  std::uint32_t compute_major, compute_minor, sm_count, warp_size;
  std::uint32_t max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
  std::uint32_t registers_per_block, registers_per_sm;
  std::uint32_t shared_per_block_bytes, shared_per_sm_bytes;
  std::uint32_t shared_per_block_optin_bytes, shared_reserved_bytes;
  std::uint32_t clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes;
};
struct Context {
  std::uint32_t context, device, null_stream;
};
struct Stream {
  std::uint32_t context, stream;
  std::int32_t priority;
};

// ---- events: have a time ----

struct Sample {
  std::uint64_t ts_ns, weight_ns;
  std::uint32_t tid;
  StackId stack;
  std::uint32_t state;  // 0 running, 1 blocked, 2 blocked, same stack as before
};

enum class RangeKind : std::uint32_t { kPushPop = 0, kStartEnd = 1, kMark = 2 };
struct Range {
  std::uint64_t start_ns, end_ns;  // equal for marks
  RangeId id;
  RangeId parent;  // innermost range or operator open on the thread at its begin; 0: none
  StringId name;
  std::uint32_t tid;      // where it began
  std::uint32_t end_tid;  // where it ended
  std::uint32_t domain, category, color, payload_type;
  std::uint64_t payload;
  RangeKind kind;
  std::uint32_t flags;  // kRange…
  StackId stack;        // of the first launch inside, 0 if none
};
inline constexpr std::uint32_t kRangeCrossing = 1;    // does not nest on its thread
inline constexpr std::uint32_t kRangeUnfinished = 2;  // open when the recording ended
inline constexpr std::uint32_t kRangeNoBegin = 4;     // opened before the recording began
/// A copy of one that was open when a window was cut, for that window's file; later copies and the
/// event itself have the same id.
inline constexpr std::uint32_t kRangeOpenSnapshot = 64;
/// Such a copy of one that may have ended at its end_ns, unseen.
inline constexpr std::uint32_t kRangeEndUnknown = 128;
inline constexpr std::uint32_t kRangeDeep = 32;  // below more than viewers' programs can nest

/// An operator, autograd node or user range of PyTorch.
struct Operator {
  std::uint64_t start_ns, end_ns;
  RangeId id;             // of the same numbers as Range::id
  RangeId parent;         // innermost range or operator open on the thread at its begin; 0: none
  std::int64_t sequence;  // of autograd; negative: none
  StringId name;
  StackId stack;    // Python frames and modules only
  InputsId inputs;  // 0: not taken
  std::uint32_t tid, end_tid;
  std::uint32_t forward_tid;  // thread that ran the forward of this backward node; 0: none
  std::uint32_t scope;        // at::RecordScope
  std::uint32_t flags;        // kRange…, kOpTopLevel
};
inline constexpr std::uint32_t kOpTopLevel = 8;                     // only user ranges around it
inline constexpr std::uint32_t kScopeBackward = 1, kScopeUser = 7;  // at::RecordScope

/// PyTorch's allocator took (bytes > 0) or gave back (bytes < 0) a block.
struct Allocation {
  std::uint64_t start_ns, end_ns;  // equal
  std::uint64_t address;
  std::int64_t bytes;
  std::uint64_t total_allocated_bytes, total_reserved_bytes;  // of the device, afterwards
  std::uint32_t tid;
  std::int32_t device_type, device;  // c10::DeviceType: 0 CPU, 1 CUDA; index, -1: the host
};

struct Step {
  std::uint64_t start_ns, end_ns;
  std::uint64_t number;  // counted from 0
  std::uint64_t label;   // what the file calls it: ProfilerStep#label
  std::uint32_t tid;
  std::uint32_t source;      // wire::StepSource
  std::uint32_t confidence;  // per cent
  StringId where;            // file:line of the loop; 0: none
};

struct ApiCall {
  std::uint64_t start_ns, end_ns;
  RangeId range;  // innermost push/pop range open at entry, 0 = none
  StringId name;
  std::uint32_t tid, cbid, api;  // api: 1 driver, 2 runtime
  std::uint32_t correlation;
  std::int32_t result;
  StackId stack;
};

struct Kernel {
  std::uint64_t start_ns, end_ns;
  RangeId range;
  std::uint64_t graph_node;
  StringId name;
  std::uint32_t graph, correlation;
  std::uint32_t launch_tid;  // 0: its launch was not seen
  std::uint32_t device, context, stream;
  std::array<std::uint32_t, 3> grid, block;
  std::uint32_t static_shared_bytes, dynamic_shared_bytes, local_per_thread_bytes;
  std::uint32_t shared_executed_bytes, registers, channel;
};
struct MemCopy {
  std::uint64_t start_ns, end_ns, bytes;
  RangeId range;
  std::uint64_t graph_node;
  std::uint32_t graph, correlation, launch_tid;
  std::uint32_t device, context, stream, dst_device;
  std::uint8_t copy_kind, src_kind, dst_kind, asynchronous;
};
/// Whether the processor makes it: between two places of the host, in its turn in a stream.
constexpr bool is_on_host(const MemCopy& copy) {
  constexpr std::uint8_t kHostToHost = 9;  // CUpti_ActivityMemcpyKind
  return copy.copy_kind == kHostToHost;
}
struct MemSet {
  std::uint64_t start_ns, end_ns, bytes;
  RangeId range;
  std::uint64_t graph_node;
  std::uint32_t graph, correlation, launch_tid;
  std::uint32_t device, context, stream, value, memory_kind;
};
struct Sync {
  std::uint64_t start_ns, end_ns;
  RangeId range;
  std::uint32_t type, correlation, launch_tid, context, stream, event;
};
struct Overhead {
  std::uint64_t start_ns, end_ns;
  std::uint32_t kind, object_kind, tid, correlation;
};
struct GraphExec {
  std::uint64_t start_ns, end_ns;
  RangeId range;
  std::uint32_t graph, correlation, launch_tid, device, context, stream;
};

template <typename... E>
struct EventList {};

/// Every event. The spool writes them, exporters read them; both fold over this list.
using Events =
    EventList<StringDef, StackDef, PythonCode, Process, ProcessEnd, ThreadName, Module,
              ModuleUnload, Domain, Fact, Notice, Loss, StateChange, ClockSnapshot, Device, Context,
              Stream, Sample, Range, Step, ApiCall, Kernel, MemCopy, MemSet, Sync, Overhead,
              GraphExec, Inputs, TorchModule, Operator, Allocation>;

/// Receives events one by one. Generated from the list: forgetting one does not compile.
template <typename List>
class BasicSink;
template <typename E>
class OneSink {
 public:
  virtual void on(const E& event) = 0;

 protected:
  ~OneSink() = default;
};
template <typename... E>
class BasicSink<EventList<E...>> : public OneSink<E>... {
 public:
  using OneSink<E>::on...;
  virtual ~BasicSink() = default;
};
using EventSink = BasicSink<Events>;

}  // namespace gpuprof::model
