// SPDX-License-Identifier: Apache-2.0
//
// Looks a symbol up in one mapped module's own dynamic symbol table.
//
// Context:  worker | boundary, inside visit_listed_modules or visit_loaded_modules (the loader
//           keeps the module mapped there)
// Promises: calls nothing of the loader; finds symbols of RTLD_LOCAL modules too; whatever the
//           tables say, reads nothing but what the loader has mapped of the module; a module that
//           is not relocated yet is read as well
// Not here: which symbols matter (inject/python/runtime/find_runtime.cpp,
//           inject/torch/find_libtorch.cpp)
#pragma once

#include <link.h>

#include <cstdint>

namespace gpuprof::modules {

/// The dynamic symbols of one module.
class ModuleSymbols {
 public:
  explicit ModuleSymbols(const dl_phdr_info& module);

  /// Address in this process of a defined symbol, 0 if the module does not define it.
  std::uint64_t find(const char* name) const;

  /// The same with the symbol's own size in bytes.
  std::uint64_t find(const char* name, std::uint64_t* bytes) const;

  /// The name it goes by (DT_SONAME), in its own memory; null: it has none.
  const char* soname() const;

 private:
  std::uint32_t gnu_lookup(const char* name) const;
  std::uint32_t sysv_lookup(const char* name) const;
  bool look_up(const char* name, ElfW(Sym) * symbol) const;
  bool defines(std::uint32_t index, const char* name) const;
  /// Bytes of the module from `at` on, 0 where nothing of it is mapped.
  std::uint64_t bytes_mapped_at(std::uint64_t at) const;
  template <typename T>
  bool read(std::uint64_t at, T* to) const;

  std::uint64_t bias_;
  const ElfW(Phdr) * parts_;
  std::uint32_t part_count_;
  // Addresses, 0: the module has none.
  std::uint64_t symbols_ = 0, strings_ = 0, gnu_hash_ = 0, sysv_hash_ = 0;
  std::uint64_t name_ = 0;  // into the strings, 0: none
};

}  // namespace gpuprof::modules
