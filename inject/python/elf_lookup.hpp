// SPDX-License-Identifier: Apache-2.0
//
// Looks a symbol up in one mapped module's own dynamic symbol table.
//
// Context:  worker, inside a dl_iterate_phdr callback (the loader keeps the module mapped there)
// Owns:     nothing
// Promises: calls nothing of the loader; finds symbols of RTLD_LOCAL modules too
// Not here: which symbols matter (find.cpp)
#pragma once

#include <link.h>

#include <cstdint>

namespace gpuprof::python {

/// The dynamic symbols of one module.
class ModuleSymbols {
 public:
  explicit ModuleSymbols(const dl_phdr_info& module);

  /// Address in this process of a defined symbol, 0 if the module does not define it.
  std::uint64_t find(const char* name) const;

 private:
  std::uint32_t gnu_lookup(const char* name) const;
  std::uint32_t sysv_lookup(const char* name) const;
  bool defines(std::uint32_t index, const char* name) const;

  std::uint64_t bias_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const std::uint32_t* gnu_hash_ = nullptr;
  const std::uint32_t* sysv_hash_ = nullptr;
};

}  // namespace gpuprof::python
