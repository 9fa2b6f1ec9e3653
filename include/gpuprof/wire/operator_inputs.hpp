// SPDX-License-Identifier: Apache-2.0
//
// Inputs of an operator as 64-bit words: what InputsDef's tail holds.
//
// Context:  any (signal-safe)
// Promises: a reader never reads beyond the words it was given
//
// Each input begins with a head word; what follows depends on its form:
//   kNothing, kSymbol, kOther  nothing
//   kTensor           `count` sizes
//   kTensorList       `count` tensors, each with a head of its own; `total` of the list
//   kInt, kDouble, kBool  the value (bit pattern)
//   kComplex              two values: the real part, the imaginary one
//   kIntList, kDoubleList, kBoolList  `count` values; `total` of the list
//   kNumberList           `count` numbers, each with a head of its own; `total` of the list
//   kText                 `count` words of bytes, padded with zeros; `total` bytes in all,
//                     kMaxInputText + 1 for every longer text
//   kTuple                `count` numbers and texts, each with a head of its own
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::wire {

enum class InputForm : std::uint8_t {
  kNothing = 0,  // None
  kTensor = 1,
  kTensorList = 2,
  kInt = 3,
  kDouble = 4,
  kBool = 5,
  kIntList = 6,
  kDoubleList = 7,
  kBoolList = 8,
  kOther = 9,  // devices, generators, dictionaries, strings of most operators …
  kComplex = 10,
  kSymbol = 11,      // a number whose value is not known: of dynamic shapes, while they are traced
  kNumberList = 12,  // numbers of several kinds, or of the two above
  kText = 13,        // this and the next: of collectives only
  kTuple = 14,
};

/// The first word of an input.
struct InputHead {
  InputForm form = InputForm::kNothing;
  std::uint8_t dtype = 0;   // of a tensor: c10::ScalarType
  std::uint16_t count = 0;  // what follows: sizes, tensors, values, words of a text, parts
  std::uint32_t total = 0;  // entries of a list or tuple, bytes of a text, kept or not

  constexpr std::uint64_t word() const {
    return static_cast<std::uint64_t>(form) | std::uint64_t{dtype} << 8 |
           std::uint64_t{count} << 16 | std::uint64_t{total} << 32;
  }
  static constexpr InputHead of(std::uint64_t word) {
    return {static_cast<InputForm>(word & 0xff), static_cast<std::uint8_t>(word >> 8),
            static_cast<std::uint16_t>(word >> 16), static_cast<std::uint32_t>(word >> 32)};
  }
};

/// Limits on what is recorded of one operator.
inline constexpr std::uint32_t kMaxInputs = 64;
inline constexpr std::uint32_t kMaxInputDims = 64;     // a tensor with more is kOther
inline constexpr std::uint32_t kMaxListTensors = 512;  // of one list
inline constexpr std::uint32_t kMaxListValues = 30;    // of one list
inline constexpr std::uint32_t kMaxInputText = 64;     // bytes of a text, then it is cut
inline constexpr std::uint32_t kMaxInputWords = 1900;  // of all inputs together

}  // namespace gpuprof::wire
