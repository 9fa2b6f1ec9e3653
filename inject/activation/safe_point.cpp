// SPDX-License-Identifier: Apache-2.0
//
// By the program counter alone. The C library calls nobody back while it holds a lock that
// pthread_create or malloc takes, so that whoever runs elsewhere holds none. What stands in for
// malloc, or is called by it for the kernel's calls about memory, is a part of it.
//
// Context:  signal
#include "inject/activation/safe_point.hpp"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "inject/activation/syscall_site.hpp"
#include "inject/modules/module_symbols.hpp"
#include "inject/modules/signal_safe_lookup.hpp"
#include "inject/sample/unwind/arch.hpp"

namespace gpuprof::wake {

namespace {

bool begins(const char* name, const char* with) { return strncmp(name, with, strlen(with)) == 0; }

// Part of an allocator, or called by one: of MPI's libraries some watch memory come and go.
bool is_allocator(const modules::MappedModule& file) {
  constexpr const char* kFunctions[] = {"malloc", "calloc", "realloc", "free",    "mmap",
                                        "munmap", "brk",    "sbrk",    "madvise", "mremap"};
  // Of TBB's allocator one library has the names and another one the code.
  constexpr const char* kFiles[] = {"libopen-pal", "libucm",       "libucs",    "libgcc_s",
                                    "libunwind",   "libtbbmalloc", "libfabric", "libpsm",
                                    "libmemkind",  "libgpuprof"};
  const char* name = file.name();
  const modules::ModuleSymbols symbols(file.info);
  return std::any_of(std::begin(kFiles), std::end(kFiles),
                     [&](const char* one) { return begins(name, one); }) ||
         std::any_of(std::begin(kFunctions), std::end(kFunctions),
                     [&](const char* one) { return symbols.find(one) != 0; });
}

bool malloc_is_the_c_librarys() {
  return modules::c_library().holds(reinterpret_cast<std::uintptr_t>(&calloc));
}

// Another malloc may ask for the time and use the C++ library while it holds locks of its own.
bool may_be_called_by_malloc(const modules::MappedModule& file) {
  const char* name = file.name();
  return !malloc_is_the_c_librarys() && (begins(name, "linux-vdso") || begins(name, "libstdc++"));
}

bool is_in_other_module(std::uintptr_t pc) {
  if (modules::c_library().holds(pc) || modules::dynamic_loader().holds(pc)) return false;
  // The C library's malloc calls none such.
  if (modules::runs_jit_code(pc)) return malloc_is_the_c_librarys();
  const modules::MappedModule file = modules::running_module(pc);
  return file.known() && !is_allocator(file) && !may_be_called_by_malloc(file);
}

// Copies, compares and looks: neither calls anything nor keeps anything on the stack, whose top is
// the caller.
bool is_in_string_function(std::uintptr_t pc) {
  constexpr std::uintptr_t kMax = 0x600;
  const std::uintptr_t functions[] = {
      reinterpret_cast<std::uintptr_t>(static_cast<void* (*)(void*, const void*, size_t)>(memcpy)),
      reinterpret_cast<std::uintptr_t>(static_cast<void* (*)(void*, const void*, size_t)>(memmove)),
      reinterpret_cast<std::uintptr_t>(static_cast<void* (*)(void*, int, size_t)>(memset)),
      reinterpret_cast<std::uintptr_t>(static_cast<size_t (*)(const char*)>(strlen))};
  return std::any_of(std::begin(functions), std::end(functions),
                     [pc](std::uintptr_t begin) { return pc - begin < kMax; });
}

}  // namespace

bool is_safe_point(const ucontext_t* context) {
  if (!modules::c_library().known() || !modules::dynamic_loader().known()) return false;
  const std::uintptr_t pc = sample::program_counter(context);
  if (modules::c_library().holds(pc)) {
    if (is_after_safe_syscall(pc) && malloc_is_the_c_librarys()) return true;
    return (is_in_string_function(pc) || is_syscall_return(pc)) &&
           is_in_other_module(sample::leaf_return_address(context));
  }
  return is_in_other_module(pc);
}

}  // namespace gpuprof::wake
