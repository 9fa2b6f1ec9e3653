// SPDX-License-Identifier: Apache-2.0
//
// Unaligned loads, alignment arithmetic and the 64-bit hash used for names and stacks.
//
// Context:  any (signal-safe)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpuprof::base {

/// Reads a T from memory of any alignment.
template <typename T>
inline T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
inline void store(void* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

/// Mixes 64 bits (the finaliser of MurmurHash3): every input bit reaches every output bit.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}

/// Adds one 64-bit word to a running hash.
constexpr std::uint64_t hash_step(std::uint64_t hash, std::uint64_t word) {
  return mix64(hash ^ word) + 0x9e3779b97f4a7c15ULL;
}

/// The two halves of a 128-bit product, combined into one word.
constexpr std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Adds two words to a running hash, at the cost of one long multiplication.
constexpr std::uint64_t hash_pair(std::uint64_t hash, std::uint64_t a, std::uint64_t b) {
  return fold(a ^ 0xa0761d6478bd642fULL, b ^ 0xe7037ed1a0b428dbULL ^ hash) + (hash >> 29);
}

/// Hash of a byte string; equal bytes give equal values in target and daemon. Cheap: it
/// runs for every operator.
inline std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint64_t hash = 0x67707570726f66ULL + bytes * 0x9e3779b97f4a7c15ULL;
  for (; bytes > 16; p += 16, bytes -= 16)
    hash = hash_pair(hash, load<std::uint64_t>(p), load<std::uint64_t>(p + 8));
  // The last words overlap the previous ones, so that no loop over single bytes is needed.
  std::uint64_t first = 0, last = 0;
  if (bytes >= 8) {
    first = load<std::uint64_t>(p);
    last = load<std::uint64_t>(p + bytes - 8);
  } else if (bytes >= 4) {
    first = load<std::uint32_t>(p);
    last = load<std::uint32_t>(p + bytes - 4);
  } else if (bytes != 0) {
    first = static_cast<std::uint64_t>(p[0]) << 16 | static_cast<std::uint64_t>(p[bytes / 2]) << 8 |
            p[bytes - 1];
  }
  const std::uint64_t mixed =
      fold(first ^ 0x8ebc6af09c88c6e3ULL, last ^ 0x589965cc75374cc3ULL ^ hash);
  return fold(mixed ^ 0xa0761d6478bd642fULL, (hash >> 29) ^ 0x1d8e4e27c47d124fULL);
}

/// Hash of whole words, for long runs of them.
inline std::uint64_t hash_words(const std::uint64_t* words, std::size_t count,
                                std::uint64_t seed = 0) {
  std::uint64_t hash = seed ^ (count * 0x9e3779b97f4a7c15ULL);
  for (; count >= 2; words += 2, count -= 2) hash = hash_pair(hash, words[0], words[1]);
  if (count != 0) hash = fold(words[0] ^ 0x8ebc6af09c88c6e3ULL, hash ^ 0x589965cc75374cc3ULL);
  return mix64(hash);
}

}  // namespace gpuprof::base
