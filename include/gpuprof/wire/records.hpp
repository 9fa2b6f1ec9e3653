// SPDX-License-Identifier: Apache-2.0
//
// The one list of records that travel in ring buffers. Each is a plain struct with its own kKind.
//
// Context:  any
// Promises: fixed widths, no padding, sizes a multiple of 8, no pointers, no floats
// Not here: how a record is framed (codec.hpp), how a ring buffer works (ring_buffer.hpp)
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpuprof/wire/kinds.hpp"
#include "gpuprof/wire/records_gpu.hpp"
#include "gpuprof/wire/records_torch.hpp"

namespace gpuprof::wire {

/// First record of a ring buffer's owner: which thread the following records belong to.
struct RingOpen {
  static constexpr Kind kKind = Kind::kRingOpen;
  std::uint32_t tid;   // kernel thread id
  std::uint32_t role;  // RingRole
  std::uint64_t ts_ns;
};

/// Records of this ring buffer that did not fit, written as soon as something fits again.
struct Lost {
  static constexpr Kind kKind = Kind::kLost;
  std::uint64_t count;
  std::uint64_t first_ns, last_ns;  // CLOCK_MONOTONIC, when the first and last were dropped
};

/// Text behind an id. id = base::hash_bytes of the full text, even if it is sent cut: texts that
/// differ only after the cut have different ids. Tail: the bytes, no NUL.
/// Sent before its first use in a ring buffer and again after any drop in that ring buffer.
struct StringDef {
  static constexpr Kind kKind = Kind::kStringDef;
  std::uint64_t id;
  std::uint32_t bytes;  // of the tail, before padding
  std::uint32_t flags;  // kStringCut
};
inline constexpr std::uint32_t kStringCut = 1;

/// One Python frame of a stack, innermost first.
struct PyFrame {
  std::uint64_t code_id;      // of a PyCodeDef, or of a TorchModuleDef (kPyModule); 0 for a shim
  std::int32_t instr_offset;  // bytes from the start of the byte code; negative: not started
  std::uint32_t flags;        // kPyShim, kPyEntry
};
/// Interpreter-entry shim (3.12+): closes a run of frames, is not printed.
inline constexpr std::uint32_t kPyShim = 1;
/// Frame entered from C (3.11): last one of its run. Before 3.11 every frame is one.
inline constexpr std::uint32_t kPyEntry = 2;
/// Not a frame: the module object whose call is the frame before this one. Operator stacks only.
inline constexpr std::uint32_t kPyModule = 4;

/// Frames behind a stack id. Tail: native_count return addresses (u64, innermost first, the
/// first one is the program counter itself), then python_count PyFrame.
/// id = hash over the tail. Sent before its first use in a ring buffer and after any drop in it.
struct StackDef {
  static constexpr Kind kKind = Kind::kStackDef;
  std::uint64_t id;
  std::uint16_t native_count;
  std::uint16_t python_count;
  std::uint32_t flags;  // kStack...
};
inline constexpr std::uint32_t kStackNativeTruncated = 1;  // unwinding stopped early
inline constexpr std::uint32_t kStackPythonPartial = 2;    // chain had no proper end
inline constexpr std::uint32_t kStackNativeDeep = 4;       // cut at kMaxNativeFrames
inline constexpr std::uint32_t kStackPythonDeep = 8;       // cut at kMaxPythonFrames
inline constexpr std::uint32_t kStackFromCopy = 16;        // walked on a copy, thread was blocked
inline constexpr std::uint32_t kStackInCallback = 32;      // taken inside an API callback: our
                                                           // own and the driver's frames come first

/// A Python code object. Tail: file, qualified name, line table (in that order, no NULs).
struct PyCodeDef {
  static constexpr Kind kKind = Kind::kPyCodeDef;
  std::uint64_t id;  // hash over address, name pointer and first line
  std::int32_t first_line;
  std::uint16_t py_minor;  // 8 … 14: selects the line table's format
  std::uint16_t flags;     // kCodeTableCut
  std::uint32_t file_bytes;
  std::uint32_t name_bytes;
  std::uint32_t table_bytes;
  std::uint32_t reserved;
};
inline constexpr std::uint16_t kCodeTableCut = 1;

/// One observation of one thread.
struct Sample {
  static constexpr Kind kKind = Kind::kSample;
  std::uint64_t ts_ns;
  std::uint64_t stack_id;  // 0: no stack could be taken
  std::uint32_t tid;
  std::uint32_t state;      // SampleState
  std::uint64_t weight_ns;  // thread CPU time (running) or wall time (blocked) it stands for
};
enum class SampleState : std::uint32_t { kRunning = 0, kBlocked = 1, kBlockedRepeat = 2 };

/// A step boundary, as counted by the agent.
struct StepMark {
  static constexpr Kind kKind = Kind::kStepMark;
  std::uint64_t ts_ns;
  std::uint64_t number;       // agent's counter, from 0
  std::uint32_t source;       // StepSource
  std::uint32_t flags;        // kStepBegin, kStepEnd, kStepLoopEntry
  std::uint64_t user_number;  // the program's own number for it (StepSource kUser); else 0
};
inline constexpr std::uint32_t kStepBegin = 1;
inline constexpr std::uint32_t kStepEnd = 2;  // ends step `number`; absent: the next begin ends it
inline constexpr std::uint32_t kStepLoopEntry = 4;  // with kStepBegin: its loop was entered with it

/// kernel:REGEX: a launch whose name the worker has not matched yet.
struct UnmatchedLaunch {
  static constexpr Kind kKind = Kind::kUnmatchedLaunch;
  std::uint64_t ts_ns;
  std::uint64_t name_id;
};
/// kernel:REGEX: the worker's result for one name, by which its earlier UnmatchedLaunch records are
/// numbered.
struct KernelNameMatch {
  static constexpr Kind kKind = Kind::kKernelNameMatch;
  std::uint64_t name_id;
  std::uint64_t matched;  // 0 or 1
};

/// NVTX push. message_id refers to a StringDef.
struct RangePush {
  static constexpr Kind kKind = Kind::kRangePush;
  std::uint64_t ts_ns;
  std::uint64_t message_id;
  std::uint32_t domain;  // index of a DomainName message; 0 = default domain
  std::uint32_t category;
  std::uint32_t color;         // ARGB, 0 = none
  std::uint32_t payload_type;  // NVTX payload type, 0 = none
  std::uint64_t payload;       // bit pattern
};
struct RangePop {
  static constexpr Kind kKind = Kind::kRangePop;
  std::uint64_t ts_ns;
  std::uint32_t domain;
  std::uint32_t reserved;
};
/// NVTX start/end: may end on another thread. range_id is unique in the process.
struct RangeStart {
  static constexpr Kind kKind = Kind::kRangeStart;
  std::uint64_t ts_ns;
  std::uint64_t message_id;
  std::uint64_t range_id;
  std::uint32_t domain;
  std::uint32_t category;
  std::uint32_t color;
  std::uint32_t payload_type;
  std::uint64_t payload;
};
struct RangeEnd {
  static constexpr Kind kKind = Kind::kRangeEnd;
  std::uint64_t ts_ns;
  std::uint64_t range_id;
};
struct NvtxMark {
  static constexpr Kind kKind = Kind::kNvtxMark;
  std::uint64_t ts_ns;
  std::uint64_t message_id;
  std::uint32_t domain;
  std::uint32_t category;
  std::uint32_t color;
  std::uint32_t payload_type;
  std::uint64_t payload;
};

/// Clocks read together; the daemon converts CUPTI times piecewise with these.
struct ClockSync {
  static constexpr Kind kKind = Kind::kClockSync;
  std::uint64_t cupti_ns;  // 0: CUPTI not open
  std::uint64_t mono_ns, real_ns, boot_ns;
  std::uint64_t tsc;
  std::uint64_t uncertainty_ns;  // mono time the reading took: its uncertainty
  std::uint64_t flags;           // kClockForeign: someone registered a timestamp callback
};
inline constexpr std::uint64_t kClockForeign = 1;

enum class RingRole : std::uint32_t { kNone = 0, kCallback = 1, kSignal = 2 };

enum class StepSource : std::uint32_t {
  kNone = 0,
  kAuto = 1,
  kUser = 2,
  kLoop = 3,
  kOptimizer = 4,
  kNvtx = 5,
  kKernel = 6,
  kPeriod = 7,         // detected only
  kLoopOptimizer = 8,  // detected only: a loop around the optimizer
};

template <typename... R>
struct RecordList {};

/// Every record. Order is free; dispatch folds over this list (codec.hpp).
using Records =
    RecordList<RingOpen, Lost, StringDef, StackDef, PyCodeDef, Sample, StepMark, UnmatchedLaunch,
               KernelNameMatch, RangePush, RangePop, RangeStart, RangeEnd, NvtxMark, Launch,
               ApiCall, KernelExec, MemCopy, MemSet, Sync, Overhead, ContextInfo, StreamInfo,
               DeviceInfo, GraphExec, JitActivity, ClockSync, OpBegin, OpEnd, InputsDef,
               TorchModuleDef, Allocation, LoopDef, StackLoops, LoopMark>;

namespace detail {
template <typename... R>
constexpr bool distinct_kinds(RecordList<R...>) {
  const std::uint16_t kinds[] = {static_cast<std::uint16_t>(R::kKind)...};
  for (std::size_t i = 0; i < sizeof...(R); ++i)
    for (std::size_t j = i + 1; j < sizeof...(R); ++j)
      if (kinds[i] == kinds[j]) return false;
  return true;
}
template <typename... R>
constexpr bool plain(RecordList<R...>) {
  return ((std::is_trivially_copyable_v<R> && std::has_unique_object_representations_v<R> &&
           sizeof(R) % 8 == 0 && alignof(R) <= 8) &&
          ...);
}
}  // namespace detail

static_assert(detail::distinct_kinds(Records{}), "two records share a kind");
static_assert(detail::plain(Records{}), "hidden padding, odd size or not trivially copyable");

}  // namespace gpuprof::wire
