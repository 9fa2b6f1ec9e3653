// SPDX-License-Identifier: Apache-2.0
//
// Describes and hands out one module after the other while none can go.
//
// Context:  worker
#include "inject/nvtx/module_data.hpp"

#include <cstring>

#include "gpuprof/base/loader_counts.hpp"
#include "inject/modules/module_list.hpp"

namespace gpuprof::nvtx {

namespace {

// Where the loader has made memory read-only again, nobody writes: it is not there.
std::uintptr_t end_of_protected(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_GNU_RELRO)
      return info.dlpi_addr + info.dlpi_phdr[i].p_vaddr + info.dlpi_phdr[i].p_memsz;
  return 0;
}

bool describe(const dl_phdr_info& info, ModuleData* module) {
  const char* path = info.dlpi_name != nullptr ? info.dlpi_name : "";
  if (std::strlen(path) >= sizeof module->path) return false;
  std::strcpy(module->path, path);
  module->base = info.dlpi_addr;
  module->parts = 0;
  const std::uintptr_t protected_end = end_of_protected(info);
  for (int i = 0; i < info.dlpi_phnum && module->parts < ModuleData::kMaxParts; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
    const std::uintptr_t at = info.dlpi_addr + part.p_vaddr, end = at + part.p_filesz;
    const bool cut = protected_end > at && protected_end <= end;
    const std::uintptr_t begin =
        ((cut ? protected_end & ~std::uintptr_t{0xfff} : at) + 7) & ~std::uintptr_t{7};
    if (begin < end) module->part[module->parts++] = {begin, end};
  }
  return true;
}

// What one visit takes along; the next one goes on. Nobody loads or unloads meanwhile, and cold
// pages of a megabyte are a millisecond.
constexpr std::size_t kBatchBytes = 512u << 10;
struct Walk {
  SeenModules* seen;
  void (*f)(const ModuleData&);
  std::size_t bytes = 0;
  bool more = false;
};

}  // namespace

bool SeenModules::is_new(std::uintptr_t base) const {
  for (std::uint32_t i = 0; i < count_; ++i)
    if (bases_[i] == base) return false;
  return count_ < kMax;
}

int SeenModules::look_into(dl_phdr_info* info, std::size_t, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  SeenModules& seen = *walk.seen;
  if (!seen.is_new(info->dlpi_addr)) return 0;
  walk.more = walk.bytes >= kBatchBytes;
  if (walk.more) return 1;
  seen.bases_[seen.count_++] = info->dlpi_addr;
  static ModuleData s_module;  // the worker's stack is small
  if (!describe(*info, &s_module)) return 0;
  for (std::uint32_t i = 0; i < s_module.parts; ++i)
    walk.bytes += s_module.part[i].end - s_module.part[i].begin;
  walk.f(s_module);
  return 0;
}

bool SeenModules::some_unloaded() {
  const base::LoaderCounts now = base::loader_counts();
  if (now.subs == subs_) return false;
  subs_ = now.subs;
  adds_ = 0;
  count_ = 0;
  return true;
}

bool SeenModules::visit_new(void (*f)(const ModuleData&)) {
  const base::LoaderCounts now = base::loader_counts();
  if (now.adds == adds_) return false;
  Walk walk{this, f};
  if (modules::visit_loaded_modules(look_into, &walk) == modules::VisitResult::kLoaderBusy)
    return false;
  if (!walk.more) adds_ = now.adds;
  return walk.more;
}

}  // namespace gpuprof::nvtx
