// SPDX-License-Identifier: Apache-2.0
//
// A little GPU work through the driver's interface, found at run time.
//
// Context:  gpuprof-try
// Owns:     a context, a module, a buffer; they end with the process
#pragma once

#include <cstdint>

namespace gpuprof::tried {

/// What was asked of the GPU.
struct GpuCounts {
  std::uint64_t kernels = 0, copies = 0, sets = 0;
};

/// What there is to work with.
enum class GpuStatus { kUsable, kNone, kBroken };

class Gpu {
 public:
  /// @param why  What is not there (kNone), or refuses (kBroken).
  GpuStatus open(const char** why);
  /// Ten kernels, a copy, a set and a wait for them. @return False: the driver refused one.
  bool run_workload();
  const GpuCounts& counts() const { return counts_; }

 private:
  template <typename F>
  bool find(F& function, const char* name);

  void* library_ = nullptr;
  void *context_ = nullptr, *module_ = nullptr, *kernel_ = nullptr;
  std::uint64_t buffer_ = 0;
  GpuCounts counts_;
  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                 void**, void**) = nullptr;
  int (*copy_)(std::uint64_t, const void*, std::size_t) = nullptr;
  int (*set_)(std::uint64_t, unsigned char, std::size_t) = nullptr;
  int (*wait_)() = nullptr;
};

}  // namespace gpuprof::tried
