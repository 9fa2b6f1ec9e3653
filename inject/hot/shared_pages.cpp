// SPDX-License-Identifier: Apache-2.0
//
// Maps over pages of the library's own data.
//
// Context:  worker
// Owns:     the pages
#include "inject/hot/shared_pages.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace gpuprof::hot {

namespace {

constexpr std::size_t kPageBytes = 4096;
static_assert(sizeof(wire::Plan) <= kPageBytes && sizeof(wire::Stats) <= kPageBytes);

// Without an initial value they lie in pages that no file is behind, as MADV_WIPEONFORK wants.
struct alignas(kPageBytes) Pages {
  std::byte alive[kPageBytes], plan[kPageBytes], stats[kPageBytes];
};
constinit Pages g_pages{};

// The system calls: a sanitizer's mmap would take the pages for memory that is new.
bool map_over(std::byte* page, int flags, int fd, std::uint64_t offset) {
  return ::syscall(SYS_mmap, page, kPageBytes, PROT_READ | PROT_WRITE, MAP_FIXED | flags, fd,
                   offset) != -1;
}

void clear(std::byte* page) { map_over(page, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

}  // namespace

bool map_shared_pages(int fd, std::uint64_t plan_offset, std::uint64_t stats_offset,
                      SharedPages* out) {
  if (plan_offset % kPageBytes != 0 || stats_offset % kPageBytes != 0) return false;
  if (::syscall(SYS_madvise, g_pages.alive, kPageBytes, MADV_WIPEONFORK) != 0) return false;
  if (!map_over(g_pages.plan, MAP_SHARED, fd, plan_offset) ||
      !map_over(g_pages.stats, MAP_SHARED, fd, stats_offset)) {
    unmap_shared_pages();
    return false;
  }
  out->alive = reinterpret_cast<std::uint32_t*>(g_pages.alive);
  out->plan = reinterpret_cast<wire::Plan*>(g_pages.plan);
  out->stats = reinterpret_cast<wire::Stats*>(g_pages.stats);
  return true;
}

void unmap_shared_pages() {
  clear(g_pages.plan);
  clear(g_pages.stats);
  ::syscall(SYS_madvise, g_pages.alive, kPageBytes, MADV_KEEPONFORK);
}

}  // namespace gpuprof::hot
