// SPDX-License-Identifier: Apache-2.0
//
// By the program counter alone. The C library calls nobody back while it holds a lock that
// pthread_create or malloc takes, so that whoever runs elsewhere holds none. What stands in for
// malloc, or is called by it for the kernel's calls about memory, is a part of it.
//
// Context:  signal
#include "inject/wake/at_rest.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "inject/modules/elf_lookup.hpp"
#include "inject/sample/machine.hpp"
#include "inject/wake/code_at.hpp"

namespace gpuprof::wake {

namespace {

struct Range {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t at) const { return at - begin < end - begin; }
};

struct LoadedFile {
  dl_phdr_info info{};
  Range range;
  bool known() const { return range.end != 0; }
};

// The header of a file that is mapped from its beginning.
LoadedFile file_at(std::uintptr_t header, const char* name) {
  LoadedFile file;
  const auto* elf = reinterpret_cast<const ElfW(Ehdr)*>(header);
  if (header == 0 || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return file;
  file.info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(header + elf->e_phoff);
  file.info.dlpi_phnum = elf->e_phnum;
  file.info.dlpi_name = name;
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
  file.range = {header, header - low + high};
  return file;
}

// From the program's own header: a PIE's addresses are told by where that is.
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

const char* base_name(const char* path) {
  const char* name = path == nullptr ? "" : path;
  for (const char* at = name; *at != '\0'; ++at)
    if (*at == '/') name = at + 1;
  return name;
}

bool begins(const char* name, const char* with) { return strncmp(name, with, strlen(with)) == 0; }

bool is_loader(const char* name) { return begins(name, "ld-linux") || begins(name, "ld64"); }

// What the program began with stands first in the list and is never taken out of it, so that so
// much of it may be walked without the loader's lock.
LoadedFile started_with(bool (*is)(const char* name)) {
  for (const link_map* at = first_module(); at != nullptr; at = at->l_next) {
    const char* name = base_name(at->l_name);
    if (is(name)) return file_at(at->l_addr, at->l_name);
    if (is_loader(name)) break;  // the last of them
  }
  return {};
}

bool is_c_library(const char* name) { return strcmp(name, "libc.so.6") == 0; }

// Asks for a module without a lock; since glibc 2.35.
using FindObject = int (*)(void*, dl_find_object*);

struct Known {
  LoadedFile c_library, loader;
  FindObject find_object = nullptr;
};

const Known& known() {
  static constinit std::atomic<bool> ready{false};
  static constinit Known all{};
  if (ready.load(std::memory_order_acquire)) return all;
  // Of two threads both find the same.
  all.c_library = started_with(is_c_library);
  all.loader = started_with(is_loader);
  if (all.c_library.known())
    all.find_object = reinterpret_cast<FindObject>(
        modules::ModuleSymbols(all.c_library.info).find("_dl_find_object"));
  ready.store(true, std::memory_order_release);
  return all;
}

LoadedFile module_of(std::uintptr_t pc) {
  const Known& all = known();
  dl_find_object found;
  memset(&found, 0, sizeof found);
  if (all.find_object != nullptr) {
    if (all.find_object(reinterpret_cast<void*>(pc), &found) != 0) return {};
    return file_at(reinterpret_cast<std::uintptr_t>(found.dlfo_map_start),
                   found.dlfo_link_map->l_name);
  }
  for (const link_map* at = first_module(); at != nullptr; at = at->l_next) {
    const LoadedFile file = file_at(at->l_addr, at->l_name);
    if (file.range.holds(pc)) return file;
    if (is_loader(base_name(at->l_name))) break;
  }
  return {};
}

// Part of an allocator, or called by one: of MPI's libraries some watch memory come and go.
bool serves_memory(const LoadedFile& file) {
  constexpr const char* kFunctions[] = {"malloc", "calloc", "realloc", "free",    "mmap",
                                        "munmap", "brk",    "sbrk",    "madvise", "mremap"};
  constexpr const char* kFiles[] = {"libopen-pal", "libucm", "libucs",     "libgcc_s",
                                    "libunwind",   "libpsm", "libmemkind", "libgpuprof"};
  const char* name = base_name(file.info.dlpi_name);
  const modules::ModuleSymbols symbols(file.info);
  return std::any_of(std::begin(kFiles), std::end(kFiles),
                     [&](const char* one) { return begins(name, one); }) ||
         std::any_of(std::begin(kFunctions), std::end(kFunctions),
                     [&](const char* one) { return symbols.find(one) != 0; });
}

bool malloc_is_the_c_librarys() {
  return known().c_library.range.holds(reinterpret_cast<std::uintptr_t>(&calloc));
}

// Another malloc may ask for the time and use the C++ library while it holds locks of its own.
bool may_be_called_by_malloc(const LoadedFile& file) {
  const char* name = base_name(file.info.dlpi_name);
  return !malloc_is_the_c_librarys() && (begins(name, "linux-vdso") || begins(name, "libstdc++"));
}

bool is_elsewhere(std::uintptr_t pc) {
  const Known& all = known();
  if (all.c_library.range.holds(pc) || all.loader.range.holds(pc)) return false;
  const LoadedFile file = module_of(pc);
  return file.known() && !serves_memory(file) && !may_be_called_by_malloc(file);
}

// Copies, compares and looks: neither calls anything nor keeps anything on the stack, whose top is
// the caller.
bool is_in_string_function(std::uintptr_t pc) {
  constexpr std::uintptr_t kLongest = 0x600;
  const std::uintptr_t functions[] = {
      reinterpret_cast<std::uintptr_t>(static_cast<void* (*)(void*, const void*, size_t)>(memcpy)),
      reinterpret_cast<std::uintptr_t>(static_cast<void* (*)(void*, const void*, size_t)>(memmove)),
      reinterpret_cast<std::uintptr_t>(static_cast<void* (*)(void*, int, size_t)>(memset)),
      reinterpret_cast<std::uintptr_t>(static_cast<size_t (*)(const char*)>(strlen))};
  return std::any_of(std::begin(functions), std::end(functions),
                     [pc](std::uintptr_t begin) { return pc - begin < kLongest; });
}

}  // namespace

bool at_rest(const ucontext_t* context) {
  const Known& all = known();
  if (!all.c_library.known() || !all.loader.known()) return false;
  const std::uintptr_t pc = sample::program_counter(context);
  if (all.c_library.range.holds(pc)) {
    if (is_behind_harmless_call(pc)) return malloc_is_the_c_librarys();
    return is_in_string_function(pc) && is_elsewhere(sample::leaf_caller(context));
  }
  return is_elsewhere(pc);
}

}  // namespace gpuprof::wake
