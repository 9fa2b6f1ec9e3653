// SPDX-License-Identifier: Apache-2.0
//
// A table beside hot's table of thread blocks.
//
// Context:  callback (map_thread_states: worker)
#include "inject/torch/operators/thread_state.hpp"

#include <sys/mman.h>

#include <cstring>

namespace gpuprof::torch {

namespace {
constexpr std::size_t kTableBytes = sizeof(ThreadOperators) * hot::kMaxThreadBlocks;
}  // namespace

constinit std::atomic<ThreadOperators*> g_thread_states{nullptr};

void OpenOps::remove(std::uint32_t index) {
  if (open_[index].encloses) --enclosing_;
  --count_;
  std::memmove(&objects_[index], &objects_[index + 1], (count_ - index) * sizeof objects_[0]);
  std::memmove(&open_[index], &open_[index + 1], (count_ - index) * sizeof(OpenOp));
}

bool OpenOps::take_from_below(std::uint64_t object, OpenOp* op) {
  for (std::uint32_t i = count_; i-- > 0;) {
    if (objects_[i] != object) continue;
    *op = open_[i];
    remove(i);
    return true;
  }
  // One of another thread is taken for a forgotten one: both are rare.
  if (evicted_ != 0) --evicted_;
  return false;
}

void reset_for_owner(ThreadOperators& state, std::uint32_t owner) {
  state.open.clear();
  state.last_op_id = 0;
  state.inputs.clear_all();
  state.stack.clear();
  state.owner = owner;
}

bool map_thread_states() {
  if (g_thread_states.load(std::memory_order_acquire) != nullptr) return true;
  void* memory = mmap(nullptr, kTableBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Zero pages are a table of states without an owner: nothing is touched here.
  g_thread_states.store(static_cast<ThreadOperators*>(memory), std::memory_order_release);
  return true;
}

void unmap_thread_states() {
  ThreadOperators* states = g_thread_states.exchange(nullptr, std::memory_order_acq_rel);
  if (states != nullptr) munmap(states, kTableBytes);
}

void drop_thread_states_after_fork() {
  ThreadOperators* states = g_thread_states.load(std::memory_order_acquire);
  if (states != nullptr) madvise(states, kTableBytes, MADV_DONTNEED);
}

}  // namespace gpuprof::torch
