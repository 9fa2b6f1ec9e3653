// SPDX-License-Identifier: Apache-2.0
//
// What one thread of the target has of ours: two ring buffers and the tables of what it has already
// sent.
//
// Context:  signal | callback (its own thread only), worker (retire)
// Owns:     its ring buffers, from claim to retire
// Promises: no lock, no allocation: blocks come from a table mapped with each segment
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gpuprof/wire/ring_buffer.hpp"
#include "inject/hot/clock/overhead_meter.hpp"
#include "inject/hot/clock/tsc_clock.hpp"
#include "inject/hot/state.hpp"

namespace gpuprof::hot {

/// Ids already sent through one ring buffer, valid for one ring buffer epoch. Direct-mapped, two
/// ways: a forgotten id is merely sent once more.
template <std::uint32_t kSlots>
class SentTable {
 public:
  /// True if `id` was sent in this epoch.
  bool contains(std::uint64_t id, std::uint32_t ring_epoch) {
    if (epoch_ != ring_epoch) clear(ring_epoch);
    const std::uint64_t* pair = &ids_[place(id)];
    return pair[0] == id || pair[1] == id;
  }
  /// Its definition was sent, after contains() returned false.
  void insert(std::uint64_t id) {
    std::uint64_t* pair = &ids_[place(id)];
    pair[1] = pair[0];
    pair[0] = id;
  }
  /// Another ring buffer, perhaps of another daemon: nothing was sent yet. No ring buffer's epoch
  /// is 0.
  void clear_all() { epoch_ = 0; }

 private:
  static std::uint64_t place(std::uint64_t id) { return (id & (kSlots / 2 - 1)) * 2; }
  [[gnu::noinline, gnu::cold]] void clear(std::uint32_t ring_epoch) {
    for (std::uint64_t& id : ids_) id = 0;
    epoch_ = ring_epoch;
  }
  std::uint32_t epoch_ = 0;
  alignas(16) std::uint64_t ids_[kSlots] = {};  // a pair lies in one line of the cache
};

/// One ring buffer's producer end and what went through it.
struct RingProducer {
  wire::RingWriter ring;
  std::uint32_t entry = 0;  // index in the directory
  bool no_ring = false;     // no ring buffer was free: asked once, counted once
  OverheadMeter overhead;   // of our code that writes here
  SentTable<1024> stacks;
  SentTable<512> strings;
  SentTable<1024> codes;
  /// Room to build one record in, so that handlers need little of the thread's own stack.
  alignas(8) std::byte scratch[15360];
  /// Room for the file and function name of one Python code object.
  alignas(8) std::byte names[2 * wire::kMaxNameBytes];
};

enum class RingRole : std::uint32_t { kCallback = 1, kSignal = 2 };

/// Where the ring buffers of one segment are. Each block has a copy: a thread that is still inside
/// when its session is over must not reach the next one's.
struct RingDirectory {
  std::uint8_t* segment;
  std::uint64_t segment_bytes;
  wire::RingEntry* rings;
  std::uint32_t ring_count, large_rings;
  std::uint32_t epoch;
};

/// A CUDA call that has not returned.
struct PendingApiCall {
  std::uint64_t begun_ns;
  std::uint32_t correlation;  // 0: none
  std::uint16_t cbid;
  std::uint16_t api;  // wire::ApiDomain
};

/// What the thread does with CUDA graphs, while callbacks report it. For code that looks for steps.
struct GraphCallState {
  std::uint32_t launches;
  std::uint32_t captures;      // begun
  std::uint32_t capturing_in;  // State::graph_callback_gaps then, plus 1; 0: none is under way

  bool any() const { return (launches | captures) != 0; }
  bool capturing() const {
    return capturing_in == g_state.graph_callback_gaps.load(std::memory_order_relaxed) + 1;
  }
};

struct ThreadBlock {
  std::uint32_t tid;
  /// Of the innermost PyTorch operator open on this thread, as OpEnd::outer.
  std::uint32_t open_op;
  /// A different number for each thread and session that had this block; never 0.
  std::uint32_t owner;
  /// Its place in the table, by which components keep what they have for a thread.
  std::uint32_t index;
  RingDirectory directory;
  /// For callbacks.
  PendingApiCall open_call;
  GraphCallState graphs;
  TscClock clock;
  RingProducer callback;
  RingProducer signal;

  RingProducer& producer_of(RingRole role) {
    return role == RingRole::kCallback ? callback : signal;
  }
};

inline constexpr std::uint32_t kMaxThreadBlocks = 256;

/// A thread's place, in the library's own memory: it belongs to its thread until that has ended,
/// through any number of sessions, so that nobody else ever writes its marks.
struct alignas(64) ThreadSlot {
  std::atomic<std::uint32_t> tid{0};  // 0: free
  /// Of `block`; 0: of none.
  std::atomic<std::uint32_t> epoch{0};
  /// Null while it is made ready, and where there is none.
  ThreadBlock* block = nullptr;
  /// Operators of this session that may have begun a step; 0: the thread makes no steps. For the
  /// worker.
  std::atomic<std::uint32_t> step_ops{0};
  /// One per RingRole: our code runs there and may use block and segment (segment_lifetime.hpp).
  std::atomic<std::uint8_t> inside[2]{};

  std::atomic<std::uint8_t>& inside_flag(RingRole role) {
    return inside[static_cast<std::uint32_t>(role) - 1];
  }
};

/// Maps the table of blocks. Worker. False: no memory.
bool map_thread_blocks();

/// Unmaps it. No thread is inside, nor gets there before map_thread_blocks(). Worker.
void unmap_thread_blocks();

/// Calls visitor(slot, argument) for each place that has a thread. Worker.
void for_each_slot(void (*visitor)(ThreadSlot& slot, void* argument), void* argument);

/// Thread-local data of the library, nearly all of it; no destructor.
struct ThreadLocal {
  ThreadSlot* slot;
  std::uint32_t tid;    // 0: not asked for yet
  std::uint32_t asked;  // for a place in this epoch
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadLocal t_local;

/// Takes a place for this thread, at its first use. Null: none left (counted), or not alive.
/// @param tid  this thread's kernel id where the caller knows it, which saves a system call: a
///             filter of the program may end it for one.
ThreadSlot* claim_slot(std::uint32_t tid = 0);

/// Makes this thread's block ready for what is published now. The thread is marked inside, in one
/// role. False: nothing is published any more.
bool prepare_block(ThreadSlot& slot);

/// The calling thread becomes another one for the kernel: what it had stays with the old id.
/// Worker.
void reset_this_thread();

/// This thread's kernel id without a system call after the first look.
std::uint32_t current_tid();

/// Whether the kernel no longer knows such a thread of this process. Keeps errno. Any context.
bool thread_exited(std::uint32_t tid);

/// Gives back the ring buffers and places of threads for which `gone(tid, arg)` returns true: they
/// have ended. Worker.
void retire_threads(bool (*gone)(std::uint32_t tid, void* arg), void* arg);

/// In the child of a fork: forget every block (the memory is ours alone there). Boundary.
void reset_threads_after_fork();

}  // namespace gpuprof::hot
