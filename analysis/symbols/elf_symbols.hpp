// SPDX-License-Identifier: Apache-2.0
//
// Function names of one ELF object, by address.
//
// Context:  daemon | cli
// Owns:     a sorted table of 24 bytes a function and the open files the names lie in
// Promises: an address no function covers has no name: never the nearest one
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/symbols/elf_file.hpp"

namespace gpuprof::symbols {

class ElfSymbols {
 public:
  ElfSymbols() = default;
  /// Reads .symtab and .dynsym of the object, and .symtab of its debug file if it has one.
  ElfSymbols(ElfFile object, ElfFile debug);

  struct Symbol {
    const char* name = nullptr;  // mangled; lives as long as this object
    std::uint64_t start = 0, size = 0;
  };
  /// The function that covers a virtual address of the file; name is null if none does.
  Symbol find(std::uint64_t address) const;

  /// Whether the tables hold this name. Reads all of their text, piece by piece.
  bool defines(std::string_view name) const;
  const ElfFile& object() const { return object_; }

  std::size_t size() const { return table_.size(); }

 private:
  /// Names stay in the files: looking at all of them would draw the whole text into memory.
  struct Entry {
    std::uint64_t start;
    std::uint32_t size;
    std::uint32_t name;   // offset in its table's text
    std::uint16_t table;  // index in texts_
    std::uint16_t rank;   // lower wins among names of one address
  };
  struct Text {
    Elf* elf;
    std::size_t section;
    int fd;  // of the file; negative: there is none
  };
  void read(const ElfFile& file);
  void add(const Text& text, Elf_Data* data, std::size_t entry_bytes);
  void finish();

  ElfFile object_, debug_;
  std::vector<Text> texts_;
  std::vector<Entry> table_;
};

}  // namespace gpuprof::symbols
