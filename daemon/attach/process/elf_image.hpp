// SPDX-License-Identifier: Apache-2.0
//
// A loaded ELF object, read where it lies in memory: exported symbols, build id.
//
// Context:  daemon | cli
// Owns:     nothing; the reader must outlive it
// Promises: damaged tables read as "not there"; no file is opened, so that deleted files, other
//           mount namespaces and folders closed to us make no difference
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace gpuprof::attach {

/// Copies `bytes` from an address; false if they are not all there.
using MemoryReader = std::function<bool(std::uint64_t address, void* to, std::size_t bytes)>;

class ElfImage {
 public:
  /// @param base Where the object's first byte lies.
  /// Nothing if no 64-bit little-endian ELF object of this machine's architecture lies there.
  static std::optional<ElfImage> at(std::uint64_t base, MemoryReader reader);

  /// Address of an exported symbol (DT_GNU_HASH); of several versions any.
  std::optional<std::uint64_t> symbol(const std::string& name) const;
  struct Function {
    std::uint64_t start, bytes;
  };
  std::optional<Function> function(const std::string& name) const;
  /// Raw bytes of the GNU build id, "" if there is none.
  const std::string& build_id() const { return build_id_; }
  /// Add it to an address of the file to get one of memory.
  std::uint64_t bias() const { return bias_; }

 private:
  explicit ElfImage(MemoryReader reader) : reader_(std::move(reader)) {}
  bool read_headers(std::uint64_t base);
  void read_dynamic(std::uint64_t address, std::uint64_t bytes);
  void read_notes(std::uint64_t address, std::uint64_t bytes);
  std::uint64_t placed(std::uint64_t pointer) const;
  template <typename T>
  bool read(std::uint64_t address, T& value) const {
    return reader_(address, &value, sizeof value);
  }
  bool named(std::uint32_t text, const std::string& name) const;

  MemoryReader reader_;
  std::uint64_t base_ = 0, bias_ = 0, end_ = 0;
  std::uint64_t symbols_ = 0, texts_ = 0, hash_ = 0;
  std::string build_id_;
};

}  // namespace gpuprof::attach
