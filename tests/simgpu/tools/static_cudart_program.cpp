// SPDX-License-Identifier: Apache-2.0
//
// What nvcc makes by default: a program with the CUDA runtime linked into it.
//
// Context:  tests
// Owns:     nothing
#include <cuda_runtime_api.h>

int main() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? 0 : 1;
}
