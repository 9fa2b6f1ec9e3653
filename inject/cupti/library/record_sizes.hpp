// SPDX-License-Identifier: Apache-2.0
//
// The size of each kind of activity record in the opened CUPTI, measured with its own iterator.
//
// Context:  probe_record_sizes: worker | boundary; RecordSizes: any
// Promises: a kind whose record is shorter than the fields we need counts as unknown
// Not here: what the fields mean (translate.hpp)
#pragma once

#include <cstdint>

#include "inject/cupti/library/api.hpp"

namespace gpuprof::cupti {

inline constexpr std::uint32_t kProbedKinds = 64;

/// Sizes by CUpti_ActivityKind; 0: the library does not know the kind, or it is too short.
struct RecordSizes {
  std::uint32_t version = 0;
  std::uint16_t bytes[kProbedKinds] = {};

  std::uint16_t of(std::uint32_t kind) const { return kind < kProbedKinds ? bytes[kind] : 0; }
};

/// Smallest size of a record of this kind from which we can read what we use; 0: kind not used.
constexpr std::uint16_t needed_bytes(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return 64;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return 64;
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return 40;
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return 144;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return 16;
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return 144;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return 40;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return 72;
    case CUPTI_ACTIVITY_KIND_STREAM:
      return 24;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return 40;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return 48;
    case CUPTI_ACTIVITY_KIND_JIT:
      return 64;
    default:
      return 0;
  }
}

/// Asks cuptiActivityGetNextRecord for the size of every kind; needs no driver and no subscriber.
void probe_record_sizes(const Api& api, RecordSizes* layout);

}  // namespace gpuprof::cupti
