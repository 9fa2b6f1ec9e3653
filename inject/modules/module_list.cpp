// SPDX-License-Identifier: Apache-2.0
//
// Walks the list when it is known to hold nothing that is being loaded.
//
// Context:  see module_list.hpp
// Owns:     nothing
#include "inject/modules/module_list.hpp"

#include <cstring>

#include "inject/modules/loader_lock.hpp"

namespace gpuprof::modules {
namespace {

constexpr int kTries = 3;

/// A walk that ends where it began if the list is another one than it was.
struct SteadyWalk {
  Visitor visitor;
  void* data;
  base::LoaderCounts wanted;
  bool begun = false, steady = false;
};

int visit_if_steady(dl_phdr_info* module, std::size_t size, void* data) {
  auto& walk = *static_cast<SteadyWalk*>(data);
  if (!walk.begun) {
    walk.begun = true;
    // The counters cannot change while we are here.
    walk.steady = base::loader_counts(*module, size) == walk.wanted;
  }
  return walk.steady ? walk.visitor(module, size, walk.data) : 1;
}

}  // namespace

int visit_listed_modules(Visitor visitor, void* data) { return dl_iterate_phdr(visitor, data); }

// Who loads holds the loader's lock from before the first of its modules is listed until after the
// last constructor has returned. So: what was listed, and then the lock was free: all of that is
// loaded. It is all there is as long as the counters are the same.
VisitResult visit_loaded_modules(Visitor visitor, void* data, base::LoaderCounts* counts) {
  for (int i = 0; i < kTries; ++i) {
    SteadyWalk walk{visitor, data, base::loader_counts()};
    if (!pending_loads_done()) return VisitResult::kLoaderBusy;
    dl_iterate_phdr(visit_if_steady, &walk);
    if (!walk.steady) continue;
    if (counts != nullptr) *counts = walk.wanted;
    return VisitResult::kDone;
  }
  return VisitResult::kLoaderBusy;
}

bool is_mapped_in(const dl_phdr_info& module, std::uintptr_t at, std::size_t bytes,
                  std::uint32_t rights) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = module.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & rights) != rights) continue;
    const std::uintptr_t into = at - (module.dlpi_addr + part.p_vaddr);
    if (into < part.p_memsz && bytes <= part.p_memsz - into) return true;
  }
  return false;
}

bool contains_address(const dl_phdr_info& module, const void* address) {
  return is_mapped_in(module, reinterpret_cast<std::uintptr_t>(address), 1, 0);
}

const char* file_name(const dl_phdr_info& module) {
  const char* path = module.dlpi_name != nullptr ? module.dlpi_name : "";
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

bool is_loader(const dl_phdr_info& module) {
  constexpr char kName[] = "ld-linux";
  return std::strncmp(file_name(module), kName, sizeof kName - 1) == 0;
}

std::uint32_t initial_module_count() {
  struct Look {
    std::uint32_t seen = 0, first = 1;
  } look;
  visit_listed_modules(
      [](dl_phdr_info* module, std::size_t, void* data) {
        auto& to = *static_cast<Look*>(data);
        ++to.seen;
        if (!is_loader(*module)) return 0;
        to.first = to.seen;
        return 1;
      },
      &look);
  return look.first;
}

}  // namespace gpuprof::modules
