// SPDX-License-Identifier: Apache-2.0
//
// A table beside hot's table of thread blocks.
//
// Context:  callback (map_thread_states: worker)
#include "inject/torch/thread_state.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

namespace gpuprof::torch {

namespace {
constexpr std::size_t kTableBytes = sizeof(ThreadState) * hot::kMaxThreadBlocks;
constinit std::atomic<ThreadState*> g_states{nullptr};
}  // namespace

void OpenOps::remove(std::uint32_t index) {
  if (open_[index].encloses) --enclosing_;
  --count_;
  std::memmove(&open_[index], &open_[index + 1], (count_ - index) * sizeof(OpenOp));
}

void OpenOps::push(const OpenOp& op) {
  // One that ended on another thread is still here; its memory may serve again only after that.
  for (std::uint32_t i = count_; i-- > 0;)
    if (open_[i].object == op.object) remove(i);
  if (count_ == kMost) remove(0);
  open_[count_++] = op;
  if (op.encloses) ++enclosing_;
}

bool OpenOps::take(std::uint64_t object, OpenOp* op) {
  for (std::uint32_t i = count_; i-- > 0;) {
    if (open_[i].object != object) continue;
    *op = open_[i];
    remove(i);
    return true;
  }
  return false;
}

bool map_thread_states() {
  if (g_states.load(std::memory_order_acquire) != nullptr) return true;
  void* memory = mmap(nullptr, kTableBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Zero pages are a table of states without an owner: nothing is touched here.
  g_states.store(static_cast<ThreadState*>(memory), std::memory_order_release);
  return true;
}

ThreadState* state_of(const hot::Guard& guard) {
  ThreadState* states = g_states.load(std::memory_order_acquire);
  if (states == nullptr) return nullptr;
  const hot::ThreadBlock& block = guard.block();
  ThreadState& state = states[hot::index_of(block)];
  if (state.owner != block.owner) {
    state.open.clear();
    state.last_op_id = 0;
    state.inputs.forget_all();
    state.stack.clear();
    state.owner = block.owner;
  }
  return &state;
}

void forget_thread_states_after_fork() {
  ThreadState* states = g_states.load(std::memory_order_acquire);
  if (states != nullptr) madvise(states, kTableBytes, MADV_DONTNEED);
}

}  // namespace gpuprof::torch
