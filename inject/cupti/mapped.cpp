// SPDX-License-Identifier: Apache-2.0
//
// Walks the loader's list.
//
// Context:  worker | boundary
// Owns:     nothing
#include "inject/cupti/mapped.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace gpuprof::cupti {

namespace {

struct Search {
  const char* prefix;
  Mapped* to;
  std::uint32_t room;
  std::uint32_t found;
};

bool is_library_named(const char* name, const char* prefix) {
  return std::strncmp(name, prefix, std::strlen(prefix)) == 0 &&
         std::strstr(name, ".so") != nullptr;
}

// The SONAME in the dynamic section; glibc has made its addresses absolute, except in the vDSO,
// which has no path.
const char* soname_of(const dl_phdr_info& info) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  if (dynamic == nullptr) return nullptr;
  const char* strings = nullptr;
  std::uint64_t offset = 0;
  bool named = false;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_SONAME) {
      offset = dynamic->d_un.d_val;
      named = true;
    }
  }
  if (!named || strings == nullptr || reinterpret_cast<std::uintptr_t>(strings) < info.dlpi_addr)
    return nullptr;
  return strings + offset;
}

int look(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (info->dlpi_name == nullptr || info->dlpi_name[0] == '\0') return 0;
  const char* soname = soname_of(*info);
  if (!is_library_named(base_name(info->dlpi_name), search.prefix) &&
      (soname == nullptr || !is_library_named(soname, search.prefix)))
    return 0;
  if (search.found < search.room) {
    Mapped& mapped = search.to[search.found];
    copy_text(mapped.path, sizeof mapped.path, info->dlpi_name);
    copy_text(mapped.soname, sizeof mapped.soname, soname != nullptr ? soname : "");
  }
  ++search.found;
  return 0;
}

}  // namespace

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

void copy_text(char* to, std::size_t room, const char* from) {
  const std::size_t bytes = strnlen(from, room - 1);
  std::memcpy(to, from, bytes);
  to[bytes] = '\0';
}

std::uint32_t find_mapped(const char* prefix, Mapped* to, std::uint32_t room) {
  Search search{prefix, to, room, 0};
  dl_iterate_phdr(look, &search);
  return search.found;
}

void* open_mapped(const char* path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); }

}  // namespace gpuprof::cupti
