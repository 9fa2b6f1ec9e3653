// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of reductions on small payloads.
//
// Context:  any
// Owns:     nothing
// Promises: integers are exact; half and bfloat16 are combined as float and rounded to nearest even
// Not here: 8-bit floats: they travel but are not combined
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpusim {

/// Element types, with the numbers of NCCL.
enum class Number : std::uint8_t {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kHalf,
  kFloat,
  kDouble,
  kBfloat16,
  kFloat8E4M3,
  kFloat8E5M2,
  kCount
};

/// How elements are combined, with the numbers of NCCL.
enum class Combine : std::uint8_t { kSum, kProduct, kMax, kMin, kAverage, kCount };

/// Bytes of one element.
std::size_t size_of(Number number);
/// into[i] = into[i] with other[i]; an average is a sum until `divide`.
void combine(Number number, Combine how, void* into, const void* other, std::size_t count);
/// values[i] /= by.
void divide(Number number, void* values, std::size_t count, int by);
/// values[i] *= the element at `factor`.
void multiply(Number number, void* values, std::size_t count, const void* factor);

}  // namespace gpusim
