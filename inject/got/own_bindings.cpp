// SPDX-License-Identifier: Apache-2.0
//
// Looks through this library's own slots before anything is called through them.
//
// Context:  boundary
// Owns:     nothing
#include "inject/got/own_bindings.hpp"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

#include "inject/got/got_slots.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/pinned_module.hpp"

extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace gpuprof::got {
namespace {

// As the loader would tell, without a call of it.
dl_phdr_info module_at(std::uintptr_t bias, std::uintptr_t headers, std::uint64_t count) {
  dl_phdr_info module{};
  module.dlpi_addr = bias;
  module.dlpi_name = "";
  module.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(headers);
  module.dlpi_phnum = static_cast<ElfW(Half)>(count);
  return module;
}

dl_phdr_info this_library() {
  const auto begin = reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  return module_at(begin, begin + __ehdr_start.e_phoff, __ehdr_start.e_phnum);
}

dl_phdr_info the_program() {
  const std::uintptr_t headers = getauxval(AT_PHDR);
  dl_phdr_info module = module_at(0, headers, headers != 0 ? getauxval(AT_PHNUM) : 0);
  for (int i = 0; i < module.dlpi_phnum; ++i)
    if (module.dlpi_phdr[i].p_type == PT_PHDR)
      module.dlpi_addr = headers - module.dlpi_phdr[i].p_vaddr;
  return module;
}

// strcmp may be the program's.
bool is_equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

bool is_of_the_heap(const char* name) {
  for (const char* one : {"malloc", "calloc", "realloc", "free"})
    if (is_equal(name, one)) return true;
  return false;
}

// By bare calls: the names of these may be the program's.
void write_own(std::uintptr_t* slot, std::uintptr_t value, bool read_only) {
  const std::uintptr_t page = getauxval(AT_PAGESZ);
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(slot) & ~(page - 1);
  if (read_only && ::syscall(SYS_mprotect, at, page, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot, value, __ATOMIC_RELAXED);
  if (read_only) ::syscall(SYS_mprotect, at, page, PROT_READ);
}

}  // namespace

void bind_own_calls_to_libc() {
  const dl_phdr_info program = the_program();
  const GotSlots own(this_library());
  own.for_each([&](const char* name, std::uintptr_t* slot, bool defined_here) {
    // Code: what is copied into the program (environ) is everybody's.
    if (defined_here || !modules::is_mapped_in(program, *slot, 1, PF_X) || is_of_the_heap(name))
      return;
    const auto next = reinterpret_cast<std::uintptr_t>(modules::next_symbol(name));
    if (next != 0 && next != *slot) write_own(slot, next, own.is_protected(slot));
  });
}

}  // namespace gpuprof::got
