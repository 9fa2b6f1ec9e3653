// SPDX-License-Identifier: Apache-2.0
//
// Walks the part of the list that never changes.
//
// Context:  signal
#include "inject/modules/signal_safe_lookup.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include <algorithm>
#include <atomic>

#include "gpuprof/base/readable.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/module_symbols.hpp"

namespace gpuprof::modules {
namespace {

// Of a file that is mapped from its beginning.
MappedModule file_at(std::uintptr_t header, const char* path) {
  MappedModule file;
  const auto* elf = reinterpret_cast<const ElfW(Ehdr)*>(header);
  if (header == 0 || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return file;
  file.info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(header + elf->e_phoff);
  file.info.dlpi_phnum = elf->e_phnum;
  file.info.dlpi_name = path;
  std::uintptr_t low = UINTPTR_MAX, high = 0;
  for (int i = 0; i < elf->e_phnum; ++i) {
    const ElfW(Phdr)& part = file.info.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    low = std::min<std::uintptr_t>(low, part.p_vaddr);
    high = std::max<std::uintptr_t>(high, part.p_vaddr + part.p_memsz);
  }
  if (low >= high) return file;
  low &= ~std::uintptr_t{4095};
  file.info.dlpi_addr = header - low;
  file.begin = header;
  file.end = header - low + high;
  return file;
}

// From the program's own header, whose place gives the base address of a PIE.
const link_map* first_module() {
  const auto* parts = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  const auto count = static_cast<int>(getauxval(AT_PHNUM));
  std::uintptr_t bias = 0;
  for (int i = 0; i < count; ++i)
    if (parts[i].p_type == PT_PHDR)
      bias = reinterpret_cast<std::uintptr_t>(parts) - parts[i].p_vaddr;
  for (int i = 0; i < count; ++i) {
    if (parts[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(bias + parts[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_DEBUG && entry->d_un.d_ptr != 0)
        return reinterpret_cast<const r_debug*>(entry->d_un.d_ptr)->r_map;
  }
  return nullptr;
}

// The first of the initial modules that `is` true of; the loader is the last of them.
template <typename Condition>
MappedModule find_initial(Condition is) {
  for (const link_map* at = first_module(); at != nullptr; at = at->l_next) {
    const MappedModule file = file_at(at->l_addr, at->l_name);
    if (file.known() && is(file)) return file;
    dl_phdr_info named{};
    named.dlpi_name = at->l_name;
    if (is_loader(named)) break;
  }
  return {};
}

using FindObject = int (*)(void*, dl_find_object*);

struct InitialModules {
  MappedModule c_library, dynamic_loader;
  FindObject find_object = nullptr;
};

const InitialModules& initial() {
  static constinit std::atomic<bool> ready{false};
  static constinit InitialModules all{};
  if (ready.load(std::memory_order_acquire)) return all;
  // Of two threads both find the same.
  all.c_library =
      find_initial([](const MappedModule& file) { return strcmp(file.name(), "libc.so.6") == 0; });
  all.dynamic_loader = find_initial([](const MappedModule& file) { return is_loader(file.info); });
  if (all.c_library.known())
    all.find_object =
        reinterpret_cast<FindObject>(ModuleSymbols(all.c_library.info).find("_dl_find_object"));
  ready.store(true, std::memory_order_release);
  return all;
}

}  // namespace

const char* MappedModule::name() const { return file_name(info); }

const MappedModule& c_library() { return initial().c_library; }
const MappedModule& dynamic_loader() { return initial().dynamic_loader; }

MappedModule running_module(std::uintptr_t pc) {
  const FindObject find_object = initial().find_object;
  if (find_object == nullptr)
    return find_initial([pc](const MappedModule& file) { return file.holds(pc); });
  dl_find_object found;
  memset(&found, 0, sizeof found);
  if (find_object(reinterpret_cast<void*>(pc), &found) != 0) return {};
  return file_at(reinterpret_cast<std::uintptr_t>(found.dlfo_map_start),
                 found.dlfo_link_map->l_name);
}

bool runs_jit_code(std::uintptr_t pc) {
  const FindObject find_object = initial().find_object;
  dl_find_object found;
  memset(&found, 0, sizeof found);
  return base::user_address(pc) && find_object != nullptr &&
         find_object(reinterpret_cast<void*>(pc), &found) != 0;
}

}  // namespace gpuprof::modules
