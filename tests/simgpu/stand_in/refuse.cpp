// SPDX-License-Identifier: Apache-2.0
//
// Refusals, compiled once into each fake.
//
// Context:  application threads
// Owns:     the mark of the simulated GPU in this library
// Promises: see refuse.hpp
// Not here: the list of names
#include "stand_in/refuse.hpp"

#include "core/truth.hpp"

extern "C" {

/// Marks this library as part of the simulated GPU.
__attribute__((visibility("default"))) extern const int gpuprof_simulated_gpu = 1;

int gpusim_refuse(const char* name) {
  gpusim::note_refusal(gpusim_library_name, name, GPUSIM_REFUSAL_CODE);
  return GPUSIM_REFUSAL_CODE;
}
}
