// SPDX-License-Identifier: Apache-2.0
//
// Copies what the loader says, then pins one module after the other.
//
// Context:  worker
#include "inject/nvtx/late_module.hpp"

#include <dlfcn.h>

#include <cstring>

#include "gpuprof/base/loader_counts.hpp"

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
  const std::uintptr_t is_protected = end_of_protected(info);
  for (int i = 0; i < info.dlpi_phnum && module->parts < ModuleData::kMostParts; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
    const std::uintptr_t at = info.dlpi_addr + part.p_vaddr, end = at + part.p_filesz;
    const bool cut = is_protected > at && is_protected <= end;
    const std::uintptr_t begin =
        ((cut ? is_protected & ~std::uintptr_t{0xfff} : at) + 7) & ~std::uintptr_t{7};
    if (begin < end) module->part[module->parts++] = {begin, end};
  }
  return true;
}

// What one walk takes along; the next one goes on. Cold pages of a megabyte are a millisecond.
constexpr std::uint32_t kBatch = 16;
constexpr std::size_t kBatchBytes = 1u << 20;
struct Walk {
  SeenModules* seen;
  ModuleData found[kBatch];
  std::uint32_t count = 0;
  std::size_t bytes = 0;
};

}  // namespace

bool lies_in(const dl_phdr_info& module, const void* at, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const auto& part = module.dlpi_phdr[i];
    const std::uintptr_t begin = module.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0 && address >= begin &&
        address + bytes <= begin + part.p_memsz)
      return true;
  }
  return false;
}

bool SeenModules::is_new(std::uintptr_t base) const {
  for (std::uint32_t i = 0; i < count_; ++i)
    if (bases_[i] == base) return false;
  return count_ < kMost;
}

int SeenModules::collect(dl_phdr_info* info, std::size_t, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  SeenModules& seen = *walk.seen;
  if (!seen.is_new(info->dlpi_addr)) return 0;
  if (walk.count == kBatch || walk.bytes >= kBatchBytes) return 1;
  seen.bases_[seen.count_++] = info->dlpi_addr;
  ModuleData& module = walk.found[walk.count];
  if (!describe(*info, &module)) return 0;
  for (std::uint32_t i = 0; i < module.parts; ++i)
    walk.bytes += module.part[i].end - module.part[i].begin;
  ++walk.count;
  return 0;
}

bool SeenModules::unloaded() {
  const base::LoaderCounts now = base::loader_counts();
  if (now.subs == subs_) return false;
  subs_ = now.subs;
  adds_ = 0;
  count_ = 0;
  return true;
}

bool SeenModules::for_some_new(void (*f)(const ModuleData&)) {
  const base::LoaderCounts now = base::loader_counts();
  if (now.adds == adds_) return false;
  static Walk s_walk;  // the worker's stack is small
  s_walk.seen = this;
  s_walk.count = 0;
  s_walk.bytes = 0;
  const bool more = dl_iterate_phdr(collect, &s_walk) != 0;
  for (std::uint32_t i = 0; i < s_walk.count; ++i) {
    const ModuleData& module = s_walk.found[i];
    void* pinned = dlopen(module.path[0] == '\0' ? nullptr : module.path,
                          RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (pinned == nullptr) continue;  // the kernel's own, or gone
    f(module);
    dlclose(pinned);
  }
  if (!more) adds_ = now.adds;
  return more;
}

}  // namespace gpuprof::nvtx
