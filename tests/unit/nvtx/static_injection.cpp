// SPDX-License-Identifier: Apache-2.0
//
// Makes our handlers the injection that NVIDIA's header finds in this program: no environment.
//
// Context:  tests
#include "inject/nvtx/nvtx.hpp"
#include "inject/nvtx/nvtx_types.hpp"

static int initialize_nvtx(NvtxGetExportTableFunc_t get_export_table) {
  return gpuprof::nvtx::initialize(reinterpret_cast<void*>(get_export_table));
}

// Stronger than the weak null of the header.
extern "C" {
extern NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = initialize_nvtx;
}
