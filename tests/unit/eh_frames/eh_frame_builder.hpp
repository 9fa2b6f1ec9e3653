// SPDX-License-Identifier: Apache-2.0
//
// A section .eh_frame, written byte by byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace gpuprof::frames {

/// At its place in memory: addresses in it are relative. As large as its memory from the first.
class EhFrameBuilder {
 public:
  EhFrameBuilder() { bytes_.reserve(1u << 16); }

  std::uintptr_t at() const { return reinterpret_cast<std::uintptr_t>(bytes_.data()); }
  std::uintptr_t here() const { return at() + bytes_.size(); }

  void bytes(std::initializer_list<int> all) {
    for (const int one : all) bytes_.push_back(static_cast<unsigned char>(one));
  }
  template <typename T>
  void value(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

  /// As compilers write it. @return where it is.
  std::uintptr_t common(int encoding = 0x1b, int first = 0x0c) {
    const std::uintptr_t at = here();
    value<std::uint32_t>(20);
    value<std::uint32_t>(0);
    bytes({1, 'z', 'R', 0, 1, 0x78, 0x10, 1, encoding, first, 7, 8, 0x90, 1, 0, 0});
    return at;
  }
  std::uintptr_t entry(std::uintptr_t common, std::uintptr_t begin, std::uint32_t size) {
    const std::uintptr_t at = here();
    value<std::uint32_t>(20);
    value<std::uint32_t>(static_cast<std::uint32_t>(here() - common));
    value<std::uint32_t>(static_cast<std::uint32_t>(begin - here()));
    value<std::uint32_t>(size);
    bytes({0, 0, 0, 0, 0, 0, 0, 0});
    return at;
  }
  void end() { value<std::uint32_t>(0); }

  unsigned char* data() { return bytes_.data(); }

 private:
  std::vector<unsigned char> bytes_;
};

}  // namespace gpuprof::frames
