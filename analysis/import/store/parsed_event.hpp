// SPDX-License-Identifier: Apache-2.0
//
// One event of a trace between reading and writing: of one size, so that many can be sorted.
//
// Context:  cli through analysis/commands
// Owns:     nothing; texts and the like are numbers of InternedTables
#pragma once

#include <cstdint>
#include <type_traits>

#include "analysis/import/store/interned_tables.hpp"
#include "recording/model/events.hpp"

namespace gpuprof::importer {

/// What a record becomes. Of those that begin at once the order here is kept: what is around
/// others comes first.
enum class ParsedKind : std::uint8_t {
  kStep,
  kFrame,
  kModule,
  kRange,  // pushed and popped
  kOperator,
  kBackwardFlow,  // to a backward node: says something of the operator that begins there
  kSpan,          // a range or operator of its own that need not nest
  kMark,
  kCall,
  kLaunchFlow,  // from the operator or call that launched something
  kAllocation,
  kSample,
  kOverhead,
  kSync,
  kWorkFlow,  // to what was launched
  kKernel,
  kGraph,
  kMemCopy,
  kMemSet,
};

/// Becomes one of a table; the others say something of these.
inline bool is_event(ParsedKind kind) {
  return kind != ParsedKind::kFrame && kind != ParsedKind::kModule &&
         kind != ParsedKind::kBackwardFlow && kind != ParsedKind::kLaunchFlow &&
         kind != ParsedKind::kWorkFlow;
}

/// Operators and ranges.
struct OperatorFields {
  std::uint64_t external_id;
  union {
    std::uint64_t payload;    // of ranges
    std::uint64_t record_id;  // of operators: "Record function id"; 0: not told
  };
  std::int64_t sequence;
  StackNode stack;
  std::uint32_t inputs;       // of ranges: the domain, in StringPool
  std::uint32_t forward_tid;  // of ranges: the category
  std::uint32_t end_tid;
  std::uint16_t flags;  // kRange…
  std::uint8_t scope;   // at::RecordScope; of spans: 255 where it is a range
  std::uint8_t payload_type;
};
struct FrameFields {
  std::uint32_t caller_file;  // in StringPool; 0: not told
  std::int32_t caller_line;
  std::uint32_t module;  // TorchModuleId
  /// Of the file; 0: not told. A parent of `kNoParent`: the file says that there is none.
  std::uint32_t id, parent;
  /// Drawn around operators by their stacks, not a call that was seen: it has no time of its own.
  bool is_inferred;
};
inline constexpr std::uint32_t kNoParent = 0xffffffff;

struct BackwardFlowFields {
  std::int64_t number;
  std::uint32_t forward_tid;  // 0: it begins here
};
/// Of arrows from a launch to what was launched.
struct LaunchFlowFields {
  std::uint64_t id;
};
struct ApiCallFields {
  std::uint64_t external_id;
  std::uint32_t correlation, cbid;
  std::int32_t result;
  StackNode stack;
  std::uint8_t has_external_id;
  std::uint8_t api;    // model::ApiCall::api
  std::uint8_t inner;  // 1: has the number of the call around it
};
struct GpuFields {
  std::uint64_t external_id, bytes, graph_node;
  std::uint32_t correlation, shape, device, context, stream, graph;
  std::uint32_t to_device;  // of synchronisations: the event
  std::uint8_t has_external_id, kind, from, to;
  std::uint8_t is_collective;  // 1: a collective by its kind
};
struct AllocationFields {
  std::uint64_t address;
  std::int64_t bytes;
  std::uint64_t allocated, reserved;
  std::int32_t device_type, device;
};
struct SampleFields {
  StackNode stack;
  std::uint32_t state;
};
struct StepFields {
  std::uint64_t number, label;
  std::uint32_t source, confidence, where;
};
struct OverheadFields {
  std::uint32_t kind;
};

struct ParsedEvent {
  std::int64_t start_ns, end_ns;  // on the file's own line
  std::uint32_t sequence;         // in the file
  std::uint32_t tid, name;        // in StringPool
  std::uint16_t process;          // of the file
  ParsedKind kind;
  std::uint8_t is_also_operator;  // 1: also the operator that a step was
  union {
    OperatorFields op;
    FrameFields frame;
    BackwardFlowFields flow;
    LaunchFlowFields link;
    ApiCallFields call;
    GpuFields gpu;
    AllocationFields allocation;
    SampleFields sample;
    StepFields step;
    OverheadFields overhead;
  };
};
static_assert(std::is_trivially_copyable_v<ParsedEvent> && sizeof(ParsedEvent) <= 96);

inline bool is_gpu(ParsedKind kind) { return kind >= ParsedKind::kKernel; }

/// GPU events come after what launched them, also where the clocks of the two do not quite agree.
inline constexpr std::int64_t kMaxGpuClockSkewNs = 100'000'000;

/// Correlations that we give, from these numbers on, which no driver reaches: to calls whose own
/// cannot be used, to ids of more than 32 bits, to work without a launch.
inline constexpr std::uint32_t kFirstSyntheticCallId = 0x80000000,
                               kFirstSyntheticLongId = 0xe0000000,
                               kFirstSyntheticWorkId = 0xf0000000;

inline std::int64_t sort_key_ns(const ParsedEvent& r) {
  return r.kind >= ParsedKind::kSync ? r.end_ns + kMaxGpuClockSkewNs : r.start_ns;
}

}  // namespace gpuprof::importer
