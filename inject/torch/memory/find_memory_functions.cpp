// SPDX-License-Identifier: Apache-2.0
//
// Searches mapped objects for PyTorch's memory functions; reads what the environment promises.
//
// Context:  boundary (a thread of the program, once for each library that calls)
// Owns:     nothing
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "gpuprof/wire/messages.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/module_symbols.hpp"
#include "inject/torch/memory/allocations.hpp"
#include "inject/torch/memory/memory_functions.hpp"

namespace gpuprof::torch {
namespace {

constexpr char kReport[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
constexpr char kEnabled[] = "_ZN3c1022memoryProfilingEnabledEv";
constexpr char kReporter[] = "_ZN3c1025profiledCPUMemoryReporterEv";
constexpr char kDeleted[] = "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv";

// How near a copy is to the caller: more is better.
enum Nearness : std::uint32_t { kNone, kAnywhere, kSameFolder, kItself };

struct Search {
  const void* caller;
  OwnWrappers own;
  MemoryCaller* found;
  const char* folder;  // of the caller, borrowed from the loader
  std::size_t folder_bytes;
  Nearness best;
};

struct Extent {
  std::uintptr_t begin = ~std::uintptr_t{0}, end = 0;
};

Extent extent_of(const dl_phdr_info& module) {
  Extent extent;
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const auto& part = module.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t at = module.dlpi_addr + part.p_vaddr;
    if (at < extent.begin) extent.begin = at;
    if (at + part.p_memsz > extent.end) extent.end = at + part.p_memsz;
  }
  return extent;
}

std::size_t folder_of(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? static_cast<std::size_t>(slash - path) : 0;
}

int find_caller_module(dl_phdr_info* module, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const Extent extent = extent_of(*module);
  const auto at = reinterpret_cast<std::uintptr_t>(search.caller);
  if (at < extent.begin || at >= extent.end) return 0;
  search.found->begin = extent.begin;
  search.found->end = extent.end;
  search.folder = module->dlpi_name != nullptr ? module->dlpi_name : "";
  search.folder_bytes = folder_of(search.folder);
  return 1;
}

Nearness nearness(const Search& search, const dl_phdr_info& module) {
  if (extent_of(module).begin == search.found->begin) return kItself;
  const char* path = module.dlpi_name != nullptr ? module.dlpi_name : "";
  const bool beside = search.folder_bytes != 0 && folder_of(path) == search.folder_bytes &&
                      memcmp(path, search.folder, search.folder_bytes) == 0;
  return beside ? kSameFolder : kAnywhere;
}

int find_best_module(dl_phdr_info* module, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const Nearness near = nearness(search, *module);
  if (near <= search.best) return 0;
  const modules::ModuleSymbols symbols(*module);
  const std::uint64_t report = symbols.find(kReport);
  if (report == 0 || report == reinterpret_cast<std::uintptr_t>(search.own.report)) return 0;
  const std::uint64_t enabled = symbols.find(kEnabled);
  if (enabled == reinterpret_cast<std::uintptr_t>(search.own.enabled)) return 0;
  search.best = near;
  search.found->real = {reinterpret_cast<ReportMemory>(report),
                        reinterpret_cast<MemoryEnabled>(enabled),
                        reinterpret_cast<CpuReporter>(symbols.find(kReporter)),
                        reinterpret_cast<BlockDeleted>(symbols.find(kDeleted))};
  return near == kItself ? 1 : 0;
}

}  // namespace

// A visit takes the lock of the list only, which nobody holds while running code of others.
bool find_memory_functions(const void* caller, const OwnWrappers& own, MemoryCaller* found) {
  Search search{caller, own, found, "", 0, kNone};
  if (modules::visit_listed_modules(find_caller_module, &search) == 0) return false;
  modules::visit_listed_modules(find_best_module, &search);
  return search.best != kNone;
}

bool expects_settings() {
  const char* const address = getenv(wire::kSocketVariable);
  // An armed process has nobody yet to give it settings.
  return address != nullptr && strncmp(address, "armed", 5) != 0;
}

}  // namespace gpuprof::torch
