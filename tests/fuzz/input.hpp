// SPDX-License-Identifier: Apache-2.0
//
// A fuzzer's bytes taken apart: numbers, choices and texts from the front. Past the end come zeros.
//
// Context:  tests
// Owns:     nothing (bytes_of_exactly: its copy)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace gpuprof::test {

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size)
      : at_(reinterpret_cast<const char*>(data)), left_(size) {}

  bool empty() const { return left_ == 0; }
  std::size_t left() const { return left_; }

  template <typename T>
  T number() {
    T value{};
    const std::string_view some = bytes(sizeof value);
    if (!some.empty()) std::memcpy(&value, some.data(), some.size());
    return value;
  }
  std::uint8_t byte() { return number<std::uint8_t>(); }
  bool odd() { return (byte() & 1) != 0; }
  /// Less than `limit`, which is not 0.
  std::size_t pick(std::size_t limit) {
    return (limit <= 256 ? byte() : number<std::uint16_t>()) % limit;
  }
  /// At most `most` bytes.
  std::string_view bytes(std::size_t most) {
    const std::size_t some = most < left_ ? most : left_;
    const std::string_view taken(at_, some);
    at_ += some;
    left_ -= some;
    return taken;
  }
  /// A length of two bytes, then so many.
  std::string_view text() { return bytes(number<std::uint16_t>()); }
  std::string_view rest() { return bytes(left_); }
  /// Up to the next `separator`, which is taken, too.
  std::string_view until(char separator) {
    const std::string_view all(at_, left_);
    const std::string_view taken = bytes(std::min(all.find(separator), left_));
    bytes(1);
    return taken;
  }

 private:
  const char* at_;
  std::size_t left_;
};

/// A copy in a block of just its size: a sanitizer sees the first byte too many that is read.
inline std::unique_ptr<char[]> bytes_of_exactly(std::string_view text) {
  std::unique_ptr<char[]> copy(new char[text.size() == 0 ? 1 : text.size()]);
  if (!text.empty()) std::memcpy(copy.get(), text.data(), text.size());
  return copy;
}

/// Ends the program with what was not as it must be.
inline void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

}  // namespace gpuprof::test
