// SPDX-License-Identifier: Apache-2.0
//
// The interpreter that was found: published once by the worker, read by every context.
//
// Context:  signal | callback (read), worker (write)
// Promises: immutable while published; null means "no interpreter we can read"
// Not here: how it is found (find_runtime.cpp)
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/readable.hpp"
#include "inject/python/runtime/offsets.hpp"

namespace gpuprof::python {

struct Runtime {
  Offsets offsets;
  std::uint64_t address;      // of _PyRuntime
  std::uint64_t code_type;    // of PyCode_Type: what every code object's type must be
  void* (*this_state)();      // PyGILState_GetThisThreadState; null: use the list
  std::uint32_t frame_bytes;  // how much of a frame and of a code object is read
  std::uint32_t code_bytes;
  std::uint32_t tid_in_pthread;  // where libc's struct pthread keeps the kernel tid; 0 unknown
};

extern std::atomic<const Runtime*> g_runtime;
/// Its Y of 3.Y; known also after release().
extern std::atomic<int> g_minor;

/// The thread state of the calling thread; 0: it has none. Searches those of other threads where no
/// thread-specific key holds it. Signal | callback, under a fault guard.
std::uint64_t own_thread_state(const Runtime& runtime, std::uint32_t tid);

/// Interpreters and thread states examined when a state is searched for.
inline constexpr std::uint32_t kMaxInterpreters = 64;
inline constexpr std::uint32_t kMaxStatesInHandler = 256;
inline constexpr std::uint32_t kMaxStates = 8192;

/// Whether a pointer can be one to an interpreter's object: aligned, user half, not the first page.
inline bool plausible(std::uint64_t at) { return base::user_address(at) && at % 8 == 0; }

/// Loads a word; later loads are ordered after it.
inline std::uint64_t load_acquire(std::uint64_t at) {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(at), __ATOMIC_ACQUIRE);
}

/// Whether a thread other than the one with this state ends Python: the state is freed then,
/// although this_state() of its thread still returns it. That thread's frames stay where they are,
/// as does what they hold.
inline bool is_finalized_by_other(const Runtime& runtime, std::uint64_t state) {
  const std::uint64_t by = load_acquire(runtime.address + runtime.offsets.runtime_finalizing);
  return by != 0 && by != state;
}

/// The innermost frame of the calling thread, whose state this is; 0 once another thread ends
/// Python. What is returned was read before that: this is checked after each load.
inline std::uint64_t own_top_frame(const Runtime& runtime, std::uint64_t state) {
  const Offsets& at = runtime.offsets;
  if (is_finalized_by_other(runtime, state)) return 0;
  std::uint64_t frame = load_acquire(state + at.thread_frame);
  if (is_finalized_by_other(runtime, state)) return 0;
  if (at.cframe_frame == kNone) return frame;
  if (!plausible(frame)) return 0;
  frame = load_acquire(frame + at.cframe_frame);  // it may be part of the state
  return is_finalized_by_other(runtime, state) ? 0 : frame;
}

/// Where a code object has its longest name.
inline std::uint32_t code_name_offset(const Offsets& at) {
  return at.code_qualname != kNone ? at.code_qualname : at.code_name;
}

/// An instruction pointer outside its byte code: no line table reaches this far.
inline constexpr std::int32_t kOffsetUnknown = 0x7fffffff;
/// Frame owners from here on are interpreter-entry shims (3.12+).
inline constexpr std::uint8_t kFirstShimOwner = 3;

/// Whether the frame whose bytes lie here is not a function's.
inline bool is_shim(const Offsets& at, const std::byte* frame) {
  return at.minor >= 12 && base::load<std::uint8_t>(frame + at.frame_owner) >= kFirstShimOwner;
}

/// From 3.14 on, the low bits of the references that a frame holds are tags.
inline std::uint64_t pointer_tag_mask(const Offsets& at) { return at.minor >= 14 ? 3 : 0; }

/// Where a frame is in its byte code, in bytes from the start of it.
///
/// @param address Of the code object, whose bytes lie at `code`.
inline std::int32_t instruction_offset(const Offsets& at, std::uint64_t address,
                                       const std::byte* code, const std::byte* frame) {
  if (at.minor < 11) {
    const auto last = base::load<std::int32_t>(frame + at.frame_instr);
    // 3.10 counts code units of two bytes.
    return at.minor == 10 && last >= 0 && last < kOffsetUnknown / 2 ? last * 2 : last;
  }
  const auto units = base::load<std::uint64_t>(code + at.bytes_length);
  const auto offset = static_cast<std::int64_t>(base::load<std::uint64_t>(frame + at.frame_instr) -
                                                (address + at.code_bytes));
  if (offset < 0) return offset >= -2 ? -1 : kOffsetUnknown;
  return static_cast<std::uint64_t>(offset) < units * 2 ? static_cast<std::int32_t>(offset)
                                                        : kOffsetUnknown;
}

}  // namespace gpuprof::python
