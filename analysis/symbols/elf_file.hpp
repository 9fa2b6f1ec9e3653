// SPDX-License-Identifier: Apache-2.0
//
// Finds and opens the ELF object behind a mapped module.
//
// Context:  daemon | cli
// Owns:     descriptor and libelf handle, until destroyed
// Promises: a file whose build id is not the mapped one's is not used
// Not here: what its symbols say (elf_symbols.hpp)
#pragma once

#include <libelf.h>

#include <cstdint>
#include <string>

#include "analysis/symbols/module_map.hpp"
#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::symbols {

class ElfFile {
 public:
  ElfFile() = default;
  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&& other) noexcept;
  ~ElfFile();

  explicit operator bool() const { return elf_ != nullptr; }
  Elf* elf() const { return elf_; }
  /// Negative for what is no file.
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

  /// Opens one file; empty if it is no 64-bit ELF object.
  static ElfFile open(const std::string& path);
  /// This process's vdso, which every process of this kernel shares.
  static ElfFile own_vdso();

  /// Raw bytes of the GNU build id note, empty if there is none.
  std::string build_id() const;

 private:
  base::UniqueFd fd_;
  Elf* elf_ = nullptr;
  std::string path_;
};

/// The object itself: its path, else through /proc of the process while that lives. A deleted or
/// replaced file is still found there.
ElfFile open_module(const MappedModule& module, std::uint32_t pid);

/// The separate file with the full symbol table, by build id; empty if none is installed.
///
/// @param root Folder that holds `.build-id/`; /usr/lib/debug on every distribution.
ElfFile open_debug_file(const std::string& build_id, const std::string& root = "/usr/lib/debug");

}  // namespace gpuprof::symbols
