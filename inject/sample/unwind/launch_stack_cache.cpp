// SPDX-License-Identifier: Apache-2.0
//
// See launch_stack_cache.hpp.
//
// Context:  callback
#include "inject/sample/unwind/launch_stack_cache.hpp"

#include <sys/mman.h>

#include <atomic>

#include "gpuprof/base/bytes.hpp"
#include "inject/python/frames/stack_fingerprint.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"

namespace gpuprof::sample {

namespace {

/// A word of a stack.
struct Cell {
  std::uint64_t value;
  std::uint32_t at;     // address / 8, its lower half
  std::uint32_t outer;  // the cell to look at next; 0: it was the last

  bool operator==(const Cell&) const = default;
};

constexpr std::uint32_t kCells = 8192, kIndex = 2 * kCells, kEntries = 2048, kPlaces = 16;
/// Launches of a thread without a place until it looks for one again.
constexpr std::uint32_t kAskEvery = 4096;

struct Entry {
  std::uint64_t key, sp, fp;
  std::uint64_t id;  // of the stack; 0: none is kept here
  std::uint32_t innermost;
  bool needs_fp;
};

// Any word of a stack, also between variables: no business of a sanitizer's.
__attribute__((no_sanitize("address", "thread"))) std::uint64_t word_at(std::uint64_t address) {
  return *reinterpret_cast<const volatile std::uint64_t*>(address);
}

bool reads_state(const python::StackFingerprint& look, std::uint32_t tid) {
  struct Reading {
    std::uint64_t state;
    std::uint32_t tid;
    bool same;
  } reading{look.state, tid, false};
  const bool read = call_guarded(
      [](void* argument) {
        auto& asked = *static_cast<Reading*>(argument);
        asked.same = python::can_read_state(asked.state, asked.tid);
      },
      &reading);
  return read && reading.same;
}

}  // namespace

/// Zeroed memory is one that nobody has.
class LaunchStackCache {
 public:
  std::atomic<std::uint32_t> tid;    // whose it is; 0: nobody's
  std::atomic<std::uint32_t> owner;  // ThreadBlock::owner
  CapturedStack taken;
  std::uint64_t taken_generation;  // when the walk began

  void forget() {
    for (Entry& entry : entries_) entry.id = 0;
    for (std::uint16_t& place : index_) place = 0;
    used_ = 1;
    generation_ = unwind_generation();
  }

  std::uint64_t known(const LaunchSite& place, const python::StackFingerprint& look) const {
    if (generation_ != unwind_generation()) return 0;
    const std::uint64_t sp = stack_pointer(place.start), key = key_of(place, look);
    const Entry& entry = entries_[key % kEntries];
    if (entry.id == 0 || entry.key != key || entry.sp != sp ||
        (entry.needs_fp && entry.fp != frame_pointer(place.start)))
      return 0;
    const std::uint64_t upper = sp >> 35 << 35;
    for (std::uint32_t at = entry.innermost; at != 0; at = cells_[at].outer)
      if (word_at(upper | std::uint64_t{cells_[at].at} << 3) != cells_[at].value) return 0;
    return entry.id;
  }

  void remember(const LaunchSite& place, const python::StackFingerprint& look, std::uint64_t id) {
    if (taken_generation != unwind_generation()) return;
    if (generation_ != taken_generation || used_ + taken.footprint.count > kCells) forget();
    const std::uint64_t sp = stack_pointer(place.start), key = key_of(place, look);
    Entry& entry = entries_[key % kEntries];
    entry.id = 0;
    std::uint32_t outer = 0;
    for (std::uint32_t i = taken.footprint.count; i-- > 0;) {
      const FootprintWord& word = taken.footprint.words[i];
      if (word.at >> 35 != sp >> 35 || word.at % 8 != 0) return;
      outer = cell_of({word.value, static_cast<std::uint32_t>(word.at >> 3), outer});
    }
    entry = Entry{key, sp, frame_pointer(place.start), id, outer, taken.footprint.needs_fp};
  }

  /// For the thread that takes the place over once this one has exited.
  void publish() { owner.store(owner.load(std::memory_order_relaxed), std::memory_order_release); }

 private:
  static std::uint64_t key_of(const LaunchSite& place, const python::StackFingerprint& look) {
    return base::hash_pair(base::hash_pair(place.parts.python ? 1 : 0, look.state, look.hash),
                           place.discriminator, stack_pointer(place.start));
  }

  /// Stacks have their outer parts in common.
  std::uint32_t cell_of(const Cell& cell) {
    std::uint64_t at = base::hash_pair(cell.outer, cell.value, cell.at);
    for (;; ++at) {
      std::uint16_t& known = index_[at % kIndex];
      if (known != 0 && cells_[known] == cell) return known;
      if (known != 0) continue;
      known = static_cast<std::uint16_t>(used_);
      cells_[used_] = cell;
      return used_++;
    }
  }

  std::uint64_t generation_;
  std::uint32_t used_;  // of cells_; the first is no place
  std::uint16_t index_[kIndex];
  Entry entries_[kEntries];
  Cell cells_[kCells];
};

namespace {

struct Memos {
  LaunchStackCache of[kPlaces];
  /// By ThreadBlock::index: its place + 1; or, of a thread that found none, launches since then.
  std::uint8_t place[hot::kMaxThreadBlocks];
  std::uint32_t asked[hot::kMaxThreadBlocks];
};

constinit std::atomic<Memos*> g_memos{nullptr};

LaunchStackCache* take_place(Memos& memos, const hot::ThreadBlock& block) {
  for (std::uint32_t i = 0; i < kPlaces; ++i) {
    LaunchStackCache& cache = memos.of[i];
    std::uint32_t had = cache.tid.load(std::memory_order_relaxed);
    if (had != 0 && had != block.tid && !hot::thread_exited(had)) continue;
    if (!cache.tid.compare_exchange_strong(had, block.tid, std::memory_order_acquire)) continue;
    cache.owner.load(std::memory_order_acquire);  // of publish()
    cache.forget();
    cache.owner.store(block.owner, std::memory_order_release);
    memos.place[block.index] = static_cast<std::uint8_t>(i + 1);
    return &cache;
  }
  memos.place[block.index] = 0;
  return nullptr;
}

}  // namespace

LaunchStackCache* launch_stack_cache_of(const hot::Guard& guard) {
  Memos* memos = g_memos.load(std::memory_order_acquire);
  if (memos == nullptr) return nullptr;
  const hot::ThreadBlock& block = guard.block();
  const std::uint32_t place = memos->place[block.index];
  if (place != 0) {
    LaunchStackCache& cache = memos->of[place - 1];
    if (cache.owner.load(std::memory_order_relaxed) == block.owner &&
        cache.tid.load(std::memory_order_relaxed) == block.tid)
      return &cache;
  }
  if (place == 0 && memos->asked[block.index]++ % kAskEvery != 0) return nullptr;
  return take_place(*memos, block);
}

std::uint64_t find_cached_stack(const LaunchStackCache& cache, const LaunchSite& place) {
  python::StackFingerprint look;
  if (place.parts.python && !python::fingerprint_stack(&look)) return 0;
  return cache.known(place, look);
}

CapturedStack& capture_buffer(LaunchStackCache& cache) {
  cache.taken.footprint.count = 0;
  cache.taken.footprint.whole = false;
  cache.taken_generation = unwind_generation();
  return cache.taken;
}

namespace {

void remember_stack(LaunchStackCache& cache, const LaunchSite& place, std::uint64_t id,
                    std::uint32_t tid) {
  const CapturedStack& taken = cache.taken;
  if (id == 0 || !place.parts.native || !taken.footprint.whole) return;
  python::StackFingerprint look;
  if (place.parts.python) {
    if (!python::fingerprint_stack(&look)) {
      if (taken.python_count != 0) python::validate_stack(tid);
      return;
    }
    if (!taken.python_whole || taken.python_count != look.count || !reads_state(look, tid)) return;
  }
  cache.remember(place, look, id);
}

}  // namespace

void cache_stack(LaunchStackCache& cache, const LaunchSite& place, std::uint64_t id,
                 std::uint32_t tid) {
  remember_stack(cache, place, id, tid);
  cache.publish();
}

void map_launch_stack_caches() {
  if (g_memos.load(std::memory_order_acquire) != nullptr) return;
  void* memory = mmap(nullptr, sizeof(Memos), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  g_memos.store(static_cast<Memos*>(memory), std::memory_order_release);
}

void unmap_launch_stack_caches() {
  Memos* memos = g_memos.exchange(nullptr, std::memory_order_acq_rel);
  if (memos != nullptr) munmap(memos, sizeof(Memos));
}

void reset_launch_stack_caches() {
  Memos* memos = g_memos.load(std::memory_order_acquire);
  if (memos != nullptr) madvise(memos, sizeof(Memos), MADV_DONTNEED);
}

}  // namespace gpuprof::sample
