// SPDX-License-Identifier: Apache-2.0
//
// The calling thread's Python frames, by plain loads.
//
// Context:  signal | callback
// Owns:     g_runtime (written by find_runtime.cpp), g_code_ids
// Promises: no system call, lock or allocation; one pthread_getspecific inside the interpreter
#include "inject/python/frames/frames.hpp"

#include "inject/python/frames/frame_walk.hpp"

namespace gpuprof::python {

constinit std::atomic<const Runtime*> g_runtime{nullptr};
constinit std::atomic<int> g_minor{0};
constinit CodeIdCache g_code_ids{};

namespace {

template <typename T>
T peek(std::uint64_t at) {
  return base::load<T>(reinterpret_cast<const std::byte*>(at));
}

std::uint64_t self() { return static_cast<std::uint64_t>(pthread_self()); }

bool belongs_here(const Runtime& runtime, std::uint64_t state, std::uint32_t tid) {
  if (runtime.offsets.thread_native_id != kNone)
    return peek<std::uint64_t>(state + runtime.offsets.thread_native_id) == tid;
  return peek<std::uint64_t>(state + runtime.offsets.thread_id) == self();
}

/// A state made by hand (PyThreadState_New) is known to no thread-specific key: look at all.
std::uint64_t listed_state(const Runtime& runtime, std::uint32_t tid) {
  std::uint64_t interp =
      peek<std::uint64_t>(runtime.address + runtime.offsets.runtime_interpreters);
  std::uint32_t looked_at = 0;
  for (std::uint32_t i = 0; i < kMaxInterpreters && plausible(interp); ++i) {
    std::uint64_t state = peek<std::uint64_t>(interp + runtime.offsets.interp_threads);
    while (plausible(state) && ++looked_at <= kMaxStatesInHandler) {
      if (belongs_here(runtime, state, tid)) return state;
      state = peek<std::uint64_t>(state + runtime.offsets.thread_next);
    }
    interp = peek<std::uint64_t>(interp + runtime.offsets.interp_next);
  }
  return 0;
}

}  // namespace

std::uint64_t own_thread_state(const Runtime& runtime, std::uint32_t tid) {
  std::uint64_t state = 0;
  if (runtime.this_state != nullptr) state = reinterpret_cast<std::uint64_t>(runtime.this_state());
  if (runtime.offsets.runtime_current != kNone) {
    // Before 3.12 a thread inside a sub-interpreter keeps the main interpreter's state under the
    // key, while the holder of the GIL is published: take that one if it is us.
    const auto current = peek<std::uint64_t>(runtime.address + runtime.offsets.runtime_current);
    if (current != state && plausible(current) && belongs_here(runtime, current, tid))
      return current;
  }
  return state != 0 ? state : listed_state(runtime, tid);
}

bool ready() { return g_runtime.load(std::memory_order_acquire) != nullptr; }

int minor_version() { return g_minor.load(std::memory_order_relaxed); }

ReadResult read_current_frames(const hot::Guard& guard, wire::PyFrame* frames, std::uint32_t room,
                               std::uint64_t ts_ns) {
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);  // pairs with find_runtime
  if (runtime == nullptr) return {};
  const std::uint64_t state = own_thread_state(*runtime, guard.tid());
  if (!plausible(state)) return {};
  if (is_finalized_by_other(*runtime, state)) return {0, wire::kStackPythonPartial};
  LocalMemory memory;
  return FrameWalk<LocalMemory>(memory, *runtime, guard, ts_ns).run(state, frames, room);
}

}  // namespace gpuprof::python
