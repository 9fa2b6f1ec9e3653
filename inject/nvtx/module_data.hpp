// SPDX-License-Identifier: Apache-2.0
//
// Newly loaded modules, and where their initialised data lies.
//
// Context:  worker
// Promises: memory that is handed out stays mapped until the function it was handed to returns
// Not here: what is looked for (late_init.cpp)
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace gpuprof::nvtx {

struct ModuleData {
  static constexpr std::uint32_t kMaxParts = 8;
  struct Part {
    std::uintptr_t begin, end;
  };
  char path[512];
  std::uintptr_t base;
  Part part[kMaxParts];  // writable, from the file
  std::uint32_t parts;
};

class SeenModules {
 public:
  /// Whether modules were unloaded since the last check: what was found may be gone, all are new
  /// again.
  bool some_unloaded();
  /// Calls f for some modules not seen before: as many as take a millisecond or so. f calls nothing
  /// of the loader. While somebody is inside dlopen none is visited: a later call visits them.
  /// @return whether there are more to visit at once.
  bool visit_new(void (*f)(const ModuleData&));

 private:
  static constexpr std::uint32_t kMax = 2048;
  bool is_new(std::uintptr_t base) const;
  static int look_into(dl_phdr_info* info, std::size_t, void* data);

  std::uintptr_t bases_[kMax] = {};
  std::uint32_t count_ = 0;
  std::uint64_t adds_ = 0, subs_ = 0;
};

}  // namespace gpuprof::nvtx
