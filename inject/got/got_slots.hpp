// SPDX-License-Identifier: Apache-2.0
//
// The slots of one mapped module that hold addresses of functions of other modules.
//
// Context:  worker, inside a visit of the module (inject/modules/module_list.hpp) | boundary, of
//           our own
// Promises: reads only what the module's dynamic section names; slots outside of its own segments
//           are passed over
// Not here: writing (slot_write.hpp)
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace gpuprof::got {

class GotSlots {
 public:
  explicit GotSlots(const dl_phdr_info& module);

  /// f(name, slot, defined_here) for each slot, lazily bound or not.
  template <typename F>
  void for_each(F f) const {
    if (symbols_ == nullptr || strings_ == nullptr) return;
    visit(calls_, f);
    visit(data_, f);
  }

  /// Whether the page of an address is made read-only after loading (PT_GNU_RELRO).
  bool is_protected(const void* address) const;

 private:
  struct Relocations {
    const ElfW(Rela) * first = nullptr;
    std::size_t count = 0;
  };

  template <typename F>
  void visit(const Relocations& all, F f) const {
    for (std::size_t i = 0; i < all.count; ++i) {
      const ElfW(Rela)& entry = all.first[i];
      if (!is_slot(ELF64_R_TYPE(entry.r_info))) continue;
      const std::uintptr_t at = bias_ + entry.r_offset;
      const std::uint64_t index = ELF64_R_SYM(entry.r_info);
      if (index == 0 || !is_writable(at)) continue;
      const ElfW(Sym)& symbol = symbols_[index];
      f(strings_ + symbol.st_name, reinterpret_cast<std::uintptr_t*>(at),
        symbol.st_shndx != SHN_UNDEF);
    }
  }
  static bool is_slot(std::uint64_t type);
  bool is_writable(std::uintptr_t at) const;

  std::uintptr_t bias_;
  const ElfW(Phdr) * headers_;
  std::uint16_t header_count_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  Relocations calls_, data_;  // DT_JMPREL; DT_RELA without its relative ones
};

}  // namespace gpuprof::got
