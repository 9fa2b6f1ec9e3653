// SPDX-License-Identifier: Apache-2.0
//
// Python frames of another thread that is blocked in the kernel.
//
// Context:  worker
// Owns:     a table kernel tid → thread state and room for one code object's strings, for ever
// Promises: every byte comes through process_vm_readv: a pointer that went bad is an error code
#include <sys/uio.h>
#include <unistd.h>

#include "inject/python/frames/frame_walk.hpp"

namespace gpuprof::python {
namespace {

/// This process, seen through a system call that cannot fault. A frame costs two of them, its own
/// bytes and its code object's; before 3.12, where nothing but the three texts tells a code object
/// from the next one at its address, five to eight.
class RemoteMemory {
 public:
  static constexpr bool kOwn = false;

  const std::byte* view(std::uint64_t at, std::uint32_t bytes, std::byte* room) const {
    return read(at, room, bytes) ? room : nullptr;
  }
  const std::byte* keep(std::uint64_t at, std::uint32_t bytes) {
    if (bytes > sizeof capacity_ - used_) return nullptr;
    std::byte* to = capacity_ + used_;
    if (!read(at, to, bytes)) return nullptr;
    used_ += bytes;
    return to;
  }
  /// Forgets what was kept; call before each code object.
  void clear() { used_ = 0; }

  static bool read(std::uint64_t at, void* to, std::uint32_t bytes) {
    const iovec local{to, bytes};
    const iovec remote{reinterpret_cast<void*>(at), bytes};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
  }

 private:
  // Two names of four bytes a character and one line table, static: the worker's stack is small.
  static inline constinit std::byte capacity_[8 * wire::kMaxNameBytes + wire::kMaxLineTableBytes] =
      {};
  std::uint32_t used_ = 0;
};

template <typename T>
T peek(std::uint64_t at) {
  T value{};
  if (!RemoteMemory::read(at, &value, sizeof value)) return T{};
  return value;
}

/// Kernel tid → thread state, rebuilt when a tid is missing or a state has changed hands.
class ThreadStateTable {
 public:
  std::uint64_t find(const Runtime& runtime, std::uint32_t tid, std::uint64_t ts_ns) {
    const std::uint64_t known = lookup(tid);
    if (known != 0 && tid_of(runtime, known) == tid) return known;
    // Threads without Python state would cause a rebuild each: not more often than this.
    if (known == 0 && ts_ns - built_ns_ < kRebuildAfterNs && built_for_ == &runtime) return 0;
    rebuild(runtime, ts_ns);
    return lookup(tid);
  }
  void forget() { count_ = 0, built_for_ = nullptr; }

 private:
  static constexpr std::uint64_t kRebuildAfterNs = 20'000'000;
  static constexpr std::uint32_t kSlots = 2048;
  struct Entry {
    std::uint32_t tid;
    std::uint64_t state;
  };

  static std::uint32_t tid_of(const Runtime& runtime, std::uint64_t state) {
    if (runtime.offsets.thread_native_id != kNone)
      return static_cast<std::uint32_t>(
          peek<std::uint64_t>(state + runtime.offsets.thread_native_id));
    const auto thread = peek<std::uint64_t>(state + runtime.offsets.thread_id);
    if (!plausible(thread) || runtime.tid_in_pthread == 0) return 0;
    return peek<std::uint32_t>(thread + runtime.tid_in_pthread);
  }

  std::uint64_t lookup(std::uint32_t tid) const {
    for (std::uint32_t i = 0; i < count_; ++i)
      if (entries_[i].tid == tid) return entries_[i].state;
    return 0;
  }

  void rebuild(const Runtime& runtime, std::uint64_t ts_ns) {
    count_ = 0;
    built_ns_ = ts_ns;
    built_for_ = &runtime;
    auto interp = peek<std::uint64_t>(runtime.address + runtime.offsets.runtime_interpreters);
    std::uint32_t looked_at = 0;
    for (std::uint32_t i = 0; i < kMaxInterpreters && plausible(interp); ++i) {
      auto state = peek<std::uint64_t>(interp + runtime.offsets.interp_threads);
      for (; plausible(state) && ++looked_at <= kMaxStates;
           state = peek<std::uint64_t>(state + runtime.offsets.thread_next))
        add(runtime, state);
      interp = peek<std::uint64_t>(interp + runtime.offsets.interp_next);
    }
  }

  /// A thread may have states in several interpreters: the one with frames counts.
  void add(const Runtime& runtime, std::uint64_t state) {
    const std::uint32_t tid = tid_of(runtime, state);
    if (tid == 0 || count_ == kSlots) return;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (entries_[i].tid != tid) continue;
      if (!has_frames(runtime, entries_[i].state)) entries_[i].state = state;
      return;
    }
    entries_[count_++] = Entry{tid, state};
  }

  static bool has_frames(const Runtime& runtime, std::uint64_t state) {
    auto first = peek<std::uint64_t>(state + runtime.offsets.thread_frame);
    if (runtime.offsets.cframe_frame != kNone && plausible(first))
      first = peek<std::uint64_t>(first + runtime.offsets.cframe_frame);
    return first != 0;
  }

  Entry entries_[kSlots];
  std::uint32_t count_;
  std::uint64_t built_ns_;
  const Runtime* built_for_;
};

constinit ThreadStateTable g_states{};

}  // namespace

ReadResult read_remote_frames(const hot::Guard& guard, pid_t tid, wire::PyFrame* frames,
                              std::uint32_t room, std::uint64_t ts_ns) {
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);
  if (runtime == nullptr) return {};
  const std::uint64_t state = g_states.find(*runtime, static_cast<std::uint32_t>(tid), ts_ns);
  if (!plausible(state)) return {};
  RemoteMemory memory;
  return FrameWalk<RemoteMemory>(memory, *runtime, guard, ts_ns).run(state, frames, room);
}

void reset_thread_states() { g_states.forget(); }

void after_fork_child() { reset_thread_states(); }

}  // namespace gpuprof::python
