// SPDX-License-Identifier: Apache-2.0
//
// An injection library that only notes that it was called.
//
// Context:  inside cuInit
// Owns:     nothing
// Promises: one line per call in the file GPUSIM_PROBE_FILE
// Not here: tracing
#include <cuda.h>

#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  const char* path = std::getenv("GPUSIM_PROBE_FILE");
  std::FILE* f = path != nullptr ? std::fopen(path, "a") : nullptr;
  if (f == nullptr) return 0;
  if (cuInit(0) != CUDA_SUCCESS)
    std::fputs("cuInit is not usable here, ", f);  // a tool may do this
  unsigned flags = 0;
  int active = -1;
  cuDevicePrimaryCtxGetState(0, &flags, &active);
  std::fprintf(f, "injected, context active %d\n", active);
  std::fclose(f);
  return 1;
}
