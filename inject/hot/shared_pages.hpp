// SPDX-License-Identifier: Apache-2.0
//
// Three of the library's own pages: the page that distinguishes a process from its forked children,
// and those at which the plan and the statistics of the present segment appear.
//
// Context:  worker, but for what is behind the pointers: any
// Owns:     the pages, for ever
// Promises: the addresses stay valid for ever: between sessions zeroed memory lies there, in which
//           counting and waking have no effect; the kernel puts one in the place of the other at
//           once, so that a thread that is still reading is never in the way
#pragma once

#include <cstdint>

#include "gpuprof/wire/segment.hpp"

namespace gpuprof::hot {

struct SharedPages {
  std::uint32_t* alive;  // 1 in this process, 0 in any forked child
  wire::Plan* plan;
  wire::Stats* stats;
};

/// Maps the pages of the segment `fd` at these offsets. False: they are not aligned to pages, or no
/// memory; zeroed memory is mapped then.
bool map_shared_pages(int fd, std::uint64_t plan_offset, std::uint64_t stats_offset,
                      SharedPages* out);

/// Maps zeroed memory again; the pages are then like the rest of the library's data.
void unmap_shared_pages();

}  // namespace gpuprof::hot
