// SPDX-License-Identifier: Apache-2.0
//
// Reads notes and the dynamic section.
//
// Context:  worker | boundary
// Owns:     nothing
#include "inject/modules/toolchain.hpp"

#include <elf.h>
#include <string.h>

#include "gpuprof/base/bytes.hpp"
#include "inject/modules/module_list.hpp"

namespace gpuprof::modules {

namespace {

bool has_note_of_go(const unsigned char* note, std::size_t bytes) {
  constexpr char kOwner[] = "Go";  // its end is part of it
  while (bytes >= sizeof(ElfW(Nhdr))) {
    const auto header = base::load<ElfW(Nhdr)>(note);
    const std::size_t whole =
        sizeof header + base::align_up(header.n_namesz, 4) + base::align_up(header.n_descsz, 4);
    if (whole > bytes) return false;
    if (header.n_namesz >= sizeof kOwner &&
        memcmp(note + sizeof header, kOwner, sizeof kOwner) == 0)
      return true;
    note += whole;
    bytes -= whole;
  }
  return false;
}

// The loader's list begins with the program.
int needs_nothing(dl_phdr_info* info, std::size_t, void*) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_NEEDED) return 1;
    return 2;
  }
  return 1;
}

}  // namespace

bool is_go_module(const dl_phdr_info& module) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = module.dlpi_phdr[i];
    const std::uintptr_t at = module.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_NOTE && is_mapped_in(module, at, part.p_memsz, PF_R) &&
        has_note_of_go(reinterpret_cast<const unsigned char*>(at), part.p_memsz))
      return true;
  }
  return false;
}

bool program_has_no_needed() { return visit_listed_modules(needs_nothing, nullptr) == 2; }

}  // namespace gpuprof::modules
