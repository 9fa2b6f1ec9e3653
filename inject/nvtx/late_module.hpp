// SPDX-License-Identifier: Apache-2.0
//
// Modules that have come, and where their initialised data lies.
//
// Context:  worker
// Owns:     nothing; a module is pinned while it is looked at
// Promises: memory that is handed out stays mapped until the function it was handed to returns
// Not here: what is looked for (late.cpp)
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace gpuprof::nvtx {

struct ModuleData {
  static constexpr std::uint32_t kMostParts = 8;
  struct Part {
    std::uintptr_t begin, end;
  };
  char path[512];
  std::uintptr_t base;
  Part part[kMostParts];  // writable, from the file
  std::uint32_t parts;
};

/// Whether a piece of memory lies in the module's data.
bool lies_in(const dl_phdr_info& module, const void* at, std::size_t bytes);

class SeenModules {
 public:
  /// Whether modules went since the last look: what was found may be gone, all are new again.
  bool unloaded();
  /// Calls f for some modules not seen before: as many as take a millisecond or two. Waits for a
  /// dlopen that is under way. @return whether there are more.
  bool for_some_new(void (*f)(const ModuleData&));

 private:
  static constexpr std::uint32_t kMost = 2048;
  bool is_new(std::uintptr_t base) const;
  static int collect(dl_phdr_info* info, std::size_t, void* data);

  std::uintptr_t bases_[kMost] = {};
  std::uint32_t count_ = 0;
  std::uint64_t adds_ = 0, subs_ = 0;
};

}  // namespace gpuprof::nvtx
