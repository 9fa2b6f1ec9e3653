// SPDX-License-Identifier: Apache-2.0
//
// A library that, when loaded and when called, changes everything a thread could notice.
#include <errno.h>
#include <fenv.h>
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

#define OVERWRITE(n) "vpxor %%ymm" #n ", %%ymm" #n ", %%ymm" #n "\n"

__attribute__((target("avx512f"))) void overwrite_zmm() {
  asm volatile(
      "vpternlogd $255, %%zmm0, %%zmm0, %%zmm0\nvpternlogd $255, %%zmm15, %%zmm15, %%zmm15\n"
      "vpternlogd $255, %%zmm16, %%zmm16, %%zmm16\nvpternlogd $255, %%zmm31, %%zmm31, %%zmm31\n"
      "kxnorw %%k5, %%k5, %%k5\n" ::
          : "xmm0", "xmm15", "xmm16", "xmm31", "k5");
}

__attribute__((target("avx2"))) void overwrite_ymm() {
  asm volatile(OVERWRITE(0) OVERWRITE(1) OVERWRITE(2) OVERWRITE(3) OVERWRITE(4) OVERWRITE(5)
                   OVERWRITE(6) OVERWRITE(7) OVERWRITE(8) OVERWRITE(9) OVERWRITE(10) OVERWRITE(11)
                       OVERWRITE(12) OVERWRITE(13) OVERWRITE(14) OVERWRITE(15)::
                           : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                             "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

void overwrite() {
  free(malloc(100'000));
  errno = 99;
  fesetround(FE_DOWNWARD);
  if (__builtin_cpu_supports("avx512f")) overwrite_zmm();
  if (__builtin_cpu_supports("avx2")) overwrite_ymm();
}

bool g_new_modes = false;

__attribute__((constructor)) void on_load() {
  __builtin_cpu_init();
  g_new_modes = fegetround() == FE_TONEAREST;
  overwrite();
}

}  // namespace

/// Returns 42 if we were loaded with the floating-point modes of a new thread and the text is
/// "hello".
EXPORT int gpuprof_attach(const char* argument);
int gpuprof_attach(const char* argument) {
  overwrite();
  return g_new_modes && strcmp(argument, "hello") == 0 ? 42 : 0;
}
