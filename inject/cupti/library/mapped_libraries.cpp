// SPDX-License-Identifier: Apache-2.0
//
// Walks the loader's list.
//
// Context:  worker | boundary
// Owns:     nothing
#include "inject/cupti/library/mapped_libraries.hpp"

#include <link.h>

#include <cstring>

#include "inject/cupti/subscribe/cupti_state.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/module_symbols.hpp"

namespace gpuprof::cupti {

namespace {

struct Search {
  const char* prefix;
  MappedLibrary* to;
  std::uint32_t room;
  std::uint32_t found;
};

bool is_library_named(const char* name, const char* prefix) {
  return std::strncmp(name, prefix, std::strlen(prefix)) == 0 &&
         std::strstr(name, ".so") != nullptr;
}

int look(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (info->dlpi_name == nullptr || info->dlpi_name[0] == '\0') return 0;
  const char* soname = modules::ModuleSymbols(*info).soname();
  if (!is_library_named(base_name(info->dlpi_name), search.prefix) &&
      (soname == nullptr || !is_library_named(soname, search.prefix)))
    return 0;
  if (search.found < search.room) {
    MappedLibrary& mapped = search.to[search.found];
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

std::uint32_t find_mapped_libraries(const char* prefix, MappedLibrary* to, std::uint32_t room) {
  Search search{prefix, to, room, 0};
  modules::visit_listed_modules(look, &search);
  return search.found;
}

modules::PinnedModule pin_library(const char* path) {
  return is_own_thread() ? modules::PinnedModule::pin(path)
                         : modules::PinnedModule::pin_blocking(path);
}

}  // namespace gpuprof::cupti
