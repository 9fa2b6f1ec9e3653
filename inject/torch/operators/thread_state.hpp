// SPDX-License-Identifier: Apache-2.0
//
// The observer's state of each thread: its open operators.
//
// Context:  callback (its own thread only), worker (map)
// Owns:     one mapping, from map_thread_states() to unmap_thread_states()
// Promises: bounded; operators deeper than the table are recorded but not remembered
#pragma once

#include <atomic>
#include <cstdint>

#include "inject/hot/recorder.hpp"
#include "inject/torch/operators/operator_stack.hpp"

namespace gpuprof::torch {

/// One operator or range that has begun and not ended.
struct OpenOp {
  std::uint64_t name_id;  // of a top-level one, else 0
  std::uint64_t step;     // K of a ProfilerStep#K
  std::uint32_t op_id;
  std::uint32_t stack;  // OperatorStack::version as it began; 0: Python may run on while it is open
  bool top_level;
  bool encloses;  // what begins inside it is not top-level
  bool is_step;   // ProfilerStep#K
};

/// The operators of one thread that are open, innermost last.
class OpenOps {
 public:
  void clear() { count_ = enclosing_ = evicted_ = 0; }

  /// Removes what was left open under this address: it began again, so it has ended.
  void push(std::uint64_t object, const OpenOp& op) {
    // One that ended on another thread is still here; its memory may be reused only after that.
    for (std::uint32_t i = 0; i < count_; ++i)
      if (objects_[i] == object) remove(i--);
    if (count_ == kMax) {
      remove(0);
      ++evicted_;
    }
    objects_[count_] = object;
    open_[count_++] = op;
    enclosing_ += op.encloses ? 1 : 0;
  }

  /// Takes `object` out, wherever it is. False: it did not begin here, or was forgotten.
  bool close(std::uint64_t object, OpenOp* op) {
    if (count_ == 0 || objects_[count_ - 1] != object) return take_from_below(object, op);
    *op = open_[--count_];
    enclosing_ -= op->encloses ? 1 : 0;
    return true;
  }

  /// Whether an operator that begins now is top-level.
  bool at_top() const { return enclosing_ == 0; }
  /// Number of the innermost one; 0: there is none; wire::kOpUnknown: it was forgotten.
  std::uint32_t innermost() const {
    if (count_ != 0) return open_[count_ - 1].op_id;
    return evicted_ == 0 ? 0 : wire::kOpUnknown;
  }
  /// OpenOp::stack of the innermost one; 0: there is none.
  std::uint32_t innermost_stack() const { return count_ == 0 ? 0 : open_[count_ - 1].stack; }

 private:
  static constexpr std::uint32_t kMax = 192;
  void remove(std::uint32_t index);
  bool take_from_below(std::uint64_t object, OpenOp* op);

  std::uint32_t count_ = 0;
  std::uint32_t enclosing_ = 0;  // of them
  std::uint32_t evicted_ = 0;    // open beside them, as far as is known
  std::uint64_t objects_[kMax] = {};
  OpenOp open_[kMax] = {};
};

struct ThreadOperators {
  std::uint32_t owner;  // ThreadBlock::owner this belongs to
  std::uint32_t last_op_id;
  OpenOps open;
  hot::SentTable<2048> inputs;  // InputsDefs sent through the callback ring buffer
  OperatorStack stack;
};

/// Maps the table. Worker. False: no memory.
bool map_thread_states();

/// Once no thread is inside a Guard, nor can get there. Worker.
void unmap_thread_states();

/// One for each hot::ThreadBlock; null before map_thread_states().
extern std::atomic<ThreadOperators*> g_thread_states;

/// Resets it for the thread that has the block now.
void reset_for_owner(ThreadOperators& state, std::uint32_t owner);

/// The calling thread's own; null before map_thread_states().
inline ThreadOperators* state_of(const hot::Guard& guard) {
  ThreadOperators* states = g_thread_states.load(std::memory_order_acquire);
  if (states == nullptr) return nullptr;
  const hot::ThreadBlock& block = guard.block();
  ThreadOperators& state = states[block.index];
  if (state.owner != block.owner) reset_for_owner(state, block.owner);
  return &state;
}

/// In the child of a fork: the memory is ours alone there. Boundary.
void drop_thread_states_after_fork();

}  // namespace gpuprof::torch
