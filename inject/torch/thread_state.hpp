// SPDX-License-Identifier: Apache-2.0
//
// What the observer keeps for each thread: the operators open on it.
//
// Context:  callback (its own thread only), worker (map)
// Owns:     one mapping, never unmapped
// Promises: bounded; operators deeper than the table are recorded but not remembered
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"
#include "inject/torch/stack.hpp"

namespace gpuprof::torch {

/// One operator or range that has begun and not ended.
struct OpenOp {
  std::uint64_t object;
  std::uint64_t name_id;  // of a top-level one, else 0
  std::uint32_t op_id;
  std::uint16_t scope;
  bool top_level;
  bool encloses;       // what begins inside it is not top-level
  bool is_step;        // ProfilerStep#K
  std::uint64_t step;  // … and its K
};

/// The operators of one thread that are open, innermost last.
class OpenOps {
 public:
  void clear() { *this = OpenOps(); }

  /// Takes back what was left open under this address: it began again, so it has ended.
  void push(const OpenOp& op);
  /// Takes `object` out, wherever it is. False: it did not begin here.
  bool take(std::uint64_t object, OpenOp* op);

  /// Whether an operator that begins now is top-level.
  bool at_top() const { return enclosing_ == 0; }
  /// Number of the innermost one; 0: there is none.
  std::uint32_t innermost() const { return count_ == 0 ? 0 : open_[count_ - 1].op_id; }

 private:
  static constexpr std::uint32_t kMost = 192;
  void remove(std::uint32_t index);

  std::uint32_t count_ = 0;
  std::uint32_t enclosing_ = 0;  // of them
  OpenOp open_[kMost] = {};
};

struct ThreadState {
  std::uint32_t owner;  // ThreadBlock::owner this belongs to
  std::uint32_t last_op_id;
  OpenOps open;
  hot::SentTable<2048> inputs;  // InputsDefs sent through the callback lane
  Stack stack;
};

/// Maps the table. Worker. False: no memory.
bool map_thread_states();

/// The calling thread's own; null before map_thread_states().
ThreadState* state_of(const hot::Guard& guard);

/// In the child of a fork: the memory is ours alone there. Boundary.
void forget_thread_states_after_fork();

}  // namespace gpuprof::torch
