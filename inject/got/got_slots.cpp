// SPDX-License-Identifier: Apache-2.0
//
// Reads a module's dynamic section.
//
// Context:  worker
#include "inject/got/got_slots.hpp"

#include <sys/auxv.h>

namespace gpuprof::got {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kTableSlot = R_X86_64_GLOB_DAT, kCallSlot = R_X86_64_JUMP_SLOT;
#else
constexpr std::uint64_t kTableSlot = R_AARCH64_GLOB_DAT, kCallSlot = R_AARCH64_JUMP_SLOT;
#endif

const ElfW(Dyn) * dynamic_of(const dl_phdr_info& module) {
  for (int i = 0; i < module.dlpi_phnum; ++i)
    if (module.dlpi_phdr[i].p_type == PT_DYNAMIC)
      return reinterpret_cast<const ElfW(Dyn)*>(module.dlpi_addr + module.dlpi_phdr[i].p_vaddr);
  return nullptr;
}

}  // namespace

GotSlots::GotSlots(const dl_phdr_info& module)
    : bias_(module.dlpi_addr), headers_(module.dlpi_phdr), header_count_(module.dlpi_phnum) {
  const ElfW(Dyn)* entry = dynamic_of(module);
  if (entry == nullptr) return;
  // glibc relocates these pointers in place, other loaders and the vdso do not.
  const auto place = [this](std::uint64_t at) { return at < bias_ ? at + bias_ : at; };
  std::uint64_t calls = 0, call_bytes = 0, data = 0, data_bytes = 0, relative = 0;
  bool addends = true;
  for (; entry->d_tag != DT_NULL; ++entry) {
    const std::uint64_t value = entry->d_un.d_val;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(place(value));
        break;
      case DT_STRTAB:
        strings_ = reinterpret_cast<const char*>(place(value));
        break;
      case DT_JMPREL:
        calls = place(value);
        break;
      case DT_PLTRELSZ:
        call_bytes = value;
        break;
      case DT_PLTREL:
        addends = value == DT_RELA;
        break;
      case DT_RELA:
        data = place(value);
        break;
      case DT_RELASZ:
        data_bytes = value;
        break;
      case DT_RELACOUNT:
        relative = value;
        break;
      default:
        break;
    }
  }
  constexpr std::size_t kBytes = sizeof(ElfW(Rela));
  if (calls != 0 && addends)
    calls_ = {reinterpret_cast<const ElfW(Rela)*>(calls), call_bytes / kBytes};
  // The linker puts the relative ones first and counts them: most of a large library's.
  if (data != 0 && data_bytes / kBytes > relative)
    data_ = {reinterpret_cast<const ElfW(Rela)*>(data) + relative, data_bytes / kBytes - relative};
}

bool GotSlots::is_slot(std::uint64_t type) { return type == kTableSlot || type == kCallSlot; }

bool GotSlots::is_writable(std::uintptr_t at) const {
  if (at % sizeof(std::uintptr_t) != 0) return false;
  for (std::uint16_t i = 0; i < header_count_; ++i) {
    const ElfW(Phdr)& part = headers_[i];
    const std::uintptr_t begin = bias_ + part.p_vaddr;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0 && at >= begin &&
        at + sizeof(std::uintptr_t) <= begin + part.p_memsz)
      return true;
  }
  return false;
}

bool GotSlots::is_protected(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto page = static_cast<std::uintptr_t>(getauxval(AT_PAGESZ));
  for (std::uint16_t i = 0; i < header_count_; ++i) {
    const ElfW(Phdr)& part = headers_[i];
    if (part.p_type != PT_GNU_RELRO) continue;
    // As the loader rounds it: a page that is only partly covered stays writable.
    const std::uintptr_t begin = (bias_ + part.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = (bias_ + part.p_vaddr + part.p_memsz) & ~(page - 1);
    if (at >= begin && at < end) return true;
  }
  return false;
}

}  // namespace gpuprof::got
