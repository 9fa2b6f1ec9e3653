// SPDX-License-Identifier: Apache-2.0
//
// The pool's memory.
//
// Context:  worker | boundary (the heap: worker)
// Owns:     nothing (see the header)
#include <sys/mman.h>

#include <cstdlib>

#include "gpuprof/base/bytes.hpp"
#include "inject/cupti/activity/buffer_pool.hpp"
#include "inject/hot/worker/sleep.hpp"

namespace gpuprof::cupti {

// A pool of none is one, too: it has nothing but the discard buffer.
std::size_t BufferPool::mapped_bytes() const {
  return count_ == 0 ? 4096 : std::size_t{bytes_} * count_;
}

bool BufferPool::make_memory(BufferMemory memory) {
  mapping_ = nullptr;
  if (memory == BufferMemory::kMapping) {
    void* const mapping = mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return false;
    mapping_ = static_cast<std::uint8_t*>(mapping);
  }
  for (std::uint32_t i = 0; i < count_; ++i) {
    std::uint8_t* const buffer = mapping_ != nullptr
                                     ? mapping_ + std::size_t{bytes_} * i
                                     : static_cast<std::uint8_t*>(calloc(1, bytes_));
    at_[i].store(buffer, std::memory_order_relaxed);
    if (buffer != nullptr) continue;
    release_memory();
    return false;
  }
  return true;
}

void BufferPool::release_memory() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes());
  for (std::uint32_t i = 0; i < count_; ++i) {
    std::uint8_t* const buffer = at_[i].exchange(nullptr);
    if (mapping_ == nullptr) free(buffer);
  }
  mapping_ = nullptr;
}

bool BufferPool::map(std::uint32_t bytes, std::uint32_t count, BufferMemory memory) {
  if (mapped()) return true;
  bytes_ = static_cast<std::uint32_t>(base::align_up(bytes, 4096));
  count_ = count < kMaxBuffers ? count : kMaxBuffers;
  if (!make_memory(memory)) return false;
  clean_.clear();
  dirty_.clear();
  for (std::uint32_t i = 0; i < count_; ++i) used_[i].store(0, std::memory_order_relaxed);
  for (std::uint32_t i = count_; i-- > 0;) clean_.push(i, next_);
  mapped_.store(true, std::memory_order_release);
  return true;
}

bool BufferPool::all_back() const { return inside_.load() == 0 && out_.load() == 0; }

bool BufferPool::unmap(std::uint32_t deadline_ms) {
  if (!mapped()) return true;
  closed_.store(true);
  for (std::uint32_t waited = 0; !all_back() && waited < deadline_ms; ++waited)
    hot::sleep_ns(1'000'000);
  const bool back = all_back();
  if (back) {
    mapped_.store(false);
    release_memory();
  }
  closed_.store(false);
  return back;
}

}  // namespace gpuprof::cupti
