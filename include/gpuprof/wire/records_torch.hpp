// SPDX-License-Identifier: Apache-2.0
//
// Records of PyTorch: operators and their inputs, memory, and the loops by which steps are
// detected.
//
// Context:  any
// Promises: as records.hpp
#pragma once

#include <cstdint>

#include "gpuprof/wire/kinds.hpp"

namespace gpuprof::wire {

/// A RecordFunction begins: an operator, an autograd node or one of the program's own ranges.
struct OpBegin {
  static constexpr Kind kKind = Kind::kOpBegin;
  std::uint64_t ts_ns;
  std::uint64_t name_id;    // StringDef
  std::uint64_t stack_id;   // StackDef without native frames, modules among its frames; 0: none
  std::uint64_t inputs_id;  // InputsDef; 0: not taken
  std::int64_t sequence;    // of autograd; negative: none
  std::uint64_t object;     // address of the RecordFunction: pairs with OpEnd
  std::uint32_t op_id;      // counts the operators of this thread; never 0 or kOpUnknown
  std::uint32_t forward_thread;  // PyTorch's number of the thread that ran the forward; 0: none
  std::uint32_t thread;          // PyTorch's number of this thread; 0: not known
  std::uint16_t scope;           // at::RecordScope: 0 function, 1 backward, 2 TorchScript, 7 user
  std::uint16_t flags;           // kOp…
};
/// Nothing but the program's own ranges encloses it.
inline constexpr std::uint16_t kOpTopLevel = 1;

/// A RecordFunction ends, perhaps on another thread than the one it began on.
struct OpEnd {
  static constexpr Kind kKind = Kind::kOpEnd;
  std::uint64_t ts_ns;
  std::uint64_t object;
  std::uint32_t op_id;  // 0: it did not begin on this thread, or the thread has forgotten it
  // op_id of the innermost operator that is still open on this thread; 0: none; or kOpUnknown
  std::uint32_t outer;
};
/// In place of the op_id of an open operator that was forgotten: too many were open inside it.
inline constexpr std::uint32_t kOpUnknown = ~0U;

/// Inputs behind an id: `words` 64-bit words as gpuprof/wire/operator_inputs.hpp describes them.
/// id = hash over the tail. Sent before its first use in a ring buffer and after any drop in it.
struct InputsDef {
  static constexpr Kind kKind = Kind::kInputsDef;
  std::uint64_t id;
  std::uint32_t words;  // of the tail
  std::uint32_t flags;  // kInputsCut
};
/// There were more inputs than are recorded: the last ones are missing.
inline constexpr std::uint32_t kInputsCut = 1;

/// An nn.Module object. Tail: name of its class, no NUL. id = hash over object and type address.
struct TorchModuleDef {
  static constexpr Kind kKind = Kind::kTorchModuleDef;
  std::uint64_t id;
  std::uint64_t object;  // address
  std::uint64_t type;    // address of its class
  std::uint32_t name_bytes;
  std::uint32_t reserved;
};

/// PyTorch's allocator allocated (bytes > 0) or freed (bytes < 0) a block.
struct Allocation {
  static constexpr Kind kKind = Kind::kAllocation;
  std::uint64_t ts_ns;
  std::uint64_t address;
  std::int64_t bytes;
  std::uint64_t total_allocated_bytes, total_reserved_bytes;  // of the device, afterwards
  std::int32_t device_type;                                   // c10::DeviceType: 0 CPU, 1 CUDA
  std::int32_t device;                                        // index; -1: the host
};

/// A loop of the Python program. id = hash over depth of its frame, code object and target.
struct LoopDef {
  static constexpr Kind kKind = Kind::kLoopDef;
  std::uint64_t id;
  std::uint64_t code_id;                    // of a PyCodeDef
  std::int32_t target_offset, jump_offset;  // bytes from the start of the byte code: its head,
                                            // and the instruction that jumps back to it
  std::uint32_t flags;                      // kLoop…
  std::uint32_t reserved;
};
inline constexpr std::uint32_t kLoopInModule = 1;  // inside a module's call

/// Loops around every operator of one stack. Tail: `count` loop ids, innermost first.
/// Sent with the first top-level operator of that stack in a ring buffer, after their LoopDefs.
/// Where no stacks are recorded, sent whenever the loops change, for the operators that follow in
/// the ring buffer.
struct StackLoops {
  static constexpr Kind kKind = Kind::kStackLoops;
  std::uint64_t stack_id;  // 0: of the operators that follow
  std::uint32_t count;
  std::uint32_t reserved;
};

/// An iteration of a loop begins with the top-level operator that follows.
struct LoopMark {
  static constexpr Kind kKind = Kind::kLoopMark;
  std::uint64_t ts_ns;
  std::uint64_t loop_id;  // 0: the mark is about CUDA graphs
  std::uint32_t flags;    // kMark…
  std::uint32_t count;    // of launches (kMarkGraphReplays); else 0
};
inline constexpr std::uint32_t kMarkLoopEntry = 1;  // the loop was entered
inline constexpr std::uint32_t kMarkInferred = 2;   // its own instruction did not move
/// No iteration: an Optimizer.step range begins inside the loop. One mark for each loop around the
/// range, innermost first, the first of them with kMarkLoopEntry. Sent while operators are not
/// recorded.
inline constexpr std::uint32_t kMarkOptimizer = 4;
/// No iteration, and sent while neither operators nor launches are recorded; the last StackLoops
/// with stack_id 0 gives the place in the program.
/// The thread has launched CUDA graphs since its previous operator.
inline constexpr std::uint32_t kMarkGraphReplays = 8;
/// The thread's launches go into a CUDA graph: its first operator there. With kMarkOptimizer: an
/// Optimizer.step range there.
inline constexpr std::uint32_t kMarkGraphCapture = 16;

}  // namespace gpuprof::wire
