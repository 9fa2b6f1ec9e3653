// SPDX-License-Identifier: Apache-2.0
//
// Texts behind API ids and kernel name pointers, as string ids of the calling thread's ring buffer.
//
// Context:  callback
// Owns:     a table of pointers into libcupti's constants (it is never unmapped)
// Promises: cuptiGetCallbackName is called once per id; a kernel name is read while CUPTI still
//           owns the buffer it came in, never later
// Not here: sending definitions (hot/recorder.hpp)
#pragma once

#include <cstdint>

#include "gpuprof/wire/records.hpp"
#include "inject/hot/recorder.hpp"

namespace gpuprof::cupti {

/// A piece of text, not NUL-terminated.
struct TextView {
  const char* data;
  std::uint32_t bytes;
};

/// "cudaMemcpyAsync_ptsz_v7000" → "cudaMemcpyAsync": what the program called.
TextView strip_api_suffix(const char* name);

/// Function name of an API id, without suffixes; "unknown_api" when CUPTI does not know it.
TextView api_name(wire::ApiDomain domain, std::uint32_t cbid);

/// String id of that name, sent through the guard's ring buffer if needed.
std::uint64_t api_name_id(const hot::Guard& guard, wire::ApiDomain domain, std::uint32_t cbid,
                          std::uint64_t ts_ns);

/// Kernel names of one completed buffer. A pointer stands for the same text only while the
/// buffer is ours: the cache lives on the stack of one completion.
class KernelNames {
 public:
  /// String id of `name` (0 for null), sent through the guard's ring buffer if needed.
  std::uint64_t id_of(const hot::Guard& guard, const char* name, std::uint64_t ts_ns);

 private:
  static constexpr std::uint32_t kSlots = 64;
  struct Slot {
    const char* name = nullptr;
    std::uint64_t id = 0;
  };
  std::uint32_t epoch_ = 0;
  Slot slots_[kSlots] = {};
};

}  // namespace gpuprof::cupti
