// SPDX-License-Identifier: Apache-2.0
//
// Three pages of the library's own: the page that tells a process from its forked children, and
// the places where the plan and the statistics of the present segment are seen.
//
// Context:  worker, but for what is behind the pointers: any
// Owns:     the pages, for ever
// Promises: the addresses never go away: between sessions zeroed memory lies there, in which one
//           may count and wake without effect; the kernel puts one in the place of the other at
//           once, so that nobody who still looks is ever in the way
#pragma once

#include <cstdint>

#include "gpuprof/wire/segment.hpp"

namespace gpuprof::hot {

struct SharedPages {
  std::uint32_t* alive;  // 1 in this process, 0 in any forked child
  wire::Plan* plan;
  wire::Stats* stats;
};

/// Shows the pages of the segment `fd` at these offsets. False: not page by page, or no memory;
/// zeroed memory is shown then.
bool map_shared_pages(int fd, std::uint64_t plan_offset, std::uint64_t stats_offset,
                      SharedPages* out);

/// Shows zeroed memory again; the pages are again like the rest of the library's data.
void unmap_shared_pages();

}  // namespace gpuprof::hot
