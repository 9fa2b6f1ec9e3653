// SPDX-License-Identifier: Apache-2.0
//
// The size table of every emulated release.
//
// Context:  any
// Owns:     nothing
// Promises: the 13.0 column equals the toolkit headers, checked at compile time; the 13.2 column
//           was compared with the headers of PyTorch's 13.2 (compare_layout.cpp, at compile time
//           too)
// Not here: what is written into a record
#include "cupti/layout.hpp"

#include <cupti.h>

#include "core/config.hpp"
#include "cupti/layout_rows.hpp"

namespace gpusim {
namespace {

constexpr std::size_t size_13_0(std::uint32_t kind) { return record_bytes(kind, Layout::k13_0); }
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == sizeof(CUpti_ActivityKernel10));
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_MEMCPY) == sizeof(CUpti_ActivityMemcpy6));
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_MEMCPY2) == sizeof(CUpti_ActivityMemcpyPtoP4));
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_MEMSET) == sizeof(CUpti_ActivityMemset4));
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_DRIVER) == sizeof(CUpti_ActivityAPI));
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) ==
              sizeof(CUpti_ActivitySynchronization2));
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_OVERHEAD) == sizeof(CUpti_ActivityOverhead3));
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_DEVICE) == sizeof(CUpti_ActivityDevice5));
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_CONTEXT) == sizeof(CUpti_ActivityContext3));
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_STREAM) == sizeof(CUpti_ActivityStream));
static_assert(size_13_0(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == sizeof(CUpti_ActivityGraphTrace2));

}  // namespace

std::uint32_t api_version() {
  constexpr std::uint32_t kVersions[] = {18, 22, 27, 130001, 130202, 140000};
  return kVersions[static_cast<int>(config().layout)];
}

std::size_t record_size(std::uint32_t kind) { return record_bytes(kind, config().layout); }

std::size_t record_size_in(std::uint32_t kind, std::uint32_t version) {
  if (version >= 130200) return record_size(kind);
  return record_bytes(kind, Layout::k13_0);
}

bool removed_kind(std::uint32_t kind) {
  constexpr std::uint32_t kRemoved[] = {6,  7,  14, 15, 16, 21, 23, 24,
                                        29, 30, 31, 32, 41, 42, 43, 44};
  for (const std::uint32_t k : kRemoved)
    if (k == kind) return true;
  return false;
}

}  // namespace gpusim
