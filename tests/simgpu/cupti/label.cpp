// SPDX-License-Identifier: Apache-2.0
//
// The mark of a simulated library, for the copies of CUPTI that refuse nothing by name.
//
// Context:  any
// Owns:     nothing
// Promises: the data symbol by which a profiler tells a simulated GPU
// Not here: the same for the other fakes (stand_in/refuse.cpp)
extern "C" {
__attribute__((visibility("default"))) extern const int gpuprof_simulated_gpu = 1;
}
