// SPDX-License-Identifier: Apache-2.0
//
// Bytes of instructions, for the files that follow them.
//
// Context:  signal | callback
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "gpuprof/base/bytes.hpp"
#include "inject/sample/unwind/heuristic_step.hpp"

namespace gpuprof::sample {

inline constexpr unsigned kWindow = 32;

struct Code {
  unsigned char at[kWindow];
  unsigned count = 0;  // 0: not readable
};

/// The bytes from `address` on, as many as can be read, up to `wanted`.
inline Code code_at(const CodeAccess& code, std::uint64_t address, unsigned wanted) {
  Code found;
  std::uint64_t at = address & ~std::uint64_t{7};
  auto skip = static_cast<unsigned>(address - at);
  for (std::uint64_t word; found.count < wanted && code.read(code.from, at, &word); at += 8) {
    for (unsigned i = skip; i < 8 && found.count < wanted; ++i)
      found.at[found.count++] = static_cast<unsigned char>(word >> (8 * i));
    skip = 0;
  }
  return found;
}

inline std::int64_t byte_of(const unsigned char* at) { return static_cast<signed char>(*at); }
inline std::int64_t long_of(const unsigned char* at) { return base::load<std::int32_t>(at); }

inline bool starts_with(const unsigned char* at, unsigned left,
                        std::initializer_list<unsigned char> what) {
  return left >= what.size() && std::equal(what.begin(), what.end(), at);
}

inline bool is_go(const CodeAccess& code, std::uint64_t address) {
  return code.is_go != nullptr && code.is_go(code.from, address);
}

/// Takes `frame` to its caller by the call that made it (prologue_step_x86_64.cpp).
bool step_by_prologue(const CodeAccess& code, FrameRegisters* frame);

}  // namespace gpuprof::sample
