// SPDX-License-Identifier: Apache-2.0
//
// Registers that only a complete restore keeps: in assembly, so that nothing else uses them.
#include <immintrin.h>
#include <string.h>

#include "tests/e2e/attach/target_parts.hpp"

namespace attach_test {
namespace {

constexpr long kSpins = 5'000'000;

bool all_pattern(const unsigned char* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (bytes[i] != 0xa5) return false;
  return true;
}

#define PUT_YMM(n) "vmovdqu (%[in]), %%ymm" #n "\n"
#define GET_YMM(n) "vmovdqu %%ymm" #n ", " #n "*32(%[out])\n"
#define PUT_ZMM(n) "vmovdqu64 (%[in]), %%zmm" #n "\n"
#define GET_ZMM(n) "vmovdqu64 %%zmm" #n ", " #n "*64(%[out])\n"
#define SIXTEEN(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define UPPER(X) \
  X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)

bool ymm_kept() {
  alignas(64) unsigned char in[64], out[16 * 32];
  memset(in, 0xa5, sizeof in);
  long spins = kSpins;
  asm volatile(SIXTEEN(PUT_YMM) "1: dec %[spins]\njnz 1b\n" SIXTEEN(GET_YMM) "vzeroupper\n"
               : [spins] "+r"(spins)
               : [in] "r"(in), [out] "r"(out)
               : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                 "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  return all_pattern(out, sizeof out);
}

__attribute__((target("avx512f"))) bool zmm_kept() {
  alignas(64) unsigned char in[64], out[32 * 64];
  memset(in, 0xa5, sizeof in);
  long spins = kSpins;
  unsigned mask = 0xa5a5;
  asm volatile("kmovw %k[mask], %%k5\n" SIXTEEN(PUT_ZMM)
                   UPPER(PUT_ZMM) "1: dec %[spins]\njnz 1b\n" SIXTEEN(GET_ZMM)
                       UPPER(GET_ZMM) "kmovw %%k5, %k[mask]\nvzeroupper\n"
               : [spins] "+r"(spins), [mask] "+r"(mask)
               : [in] "r"(in), [out] "r"(out)
               : "memory", "cc", "k5", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                 "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
                 "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",
                 "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
  return all_pattern(out, sizeof out) && mask == 0xa5a5;
}

}  // namespace

const char* broken_vectors() {
  if (__builtin_cpu_supports("avx") && !ymm_kept()) return "a ymm register changed";
  if (__builtin_cpu_supports("avx512f") && !zmm_kept()) return "a zmm or mask register changed";
  return nullptr;
}

std::uint64_t red_zone_broken() {
  std::uint64_t broken = 0;
  long spins = kSpins;
  asm volatile(
      "lea -128(%%rsp), %%r10\n"
      "mov %%r10, -8(%%rsp)\nmov %%r10, -64(%%rsp)\nmov %%r10, -128(%%rsp)\n"
      "1: dec %[spins]\njnz 1b\n"
      "xor %[broken], %[broken]\n"
      "mov -8(%%rsp), %%r11\nxor %%r10, %%r11\nor %%r11, %[broken]\n"
      "mov -64(%%rsp), %%r11\nxor %%r10, %%r11\nor %%r11, %[broken]\n"
      "mov -128(%%rsp), %%r11\nxor %%r10, %%r11\nor %%r11, %[broken]\n"
      : [spins] "+r"(spins), [broken] "+r"(broken)
      :
      : "memory", "cc", "r10", "r11");
  return broken;
}

}  // namespace attach_test
