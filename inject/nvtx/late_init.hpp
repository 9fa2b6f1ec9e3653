// SPDX-License-Identifier: Apache-2.0
//
// Libraries whose NVTX looked for a tool before we were loaded and found none: each copy of the
// header keeps one object with its functions and tables of them. It is found, verified and filled.
//
// Context:  worker (valid_globals: any, pure)
// Owns:     a list of such objects
// Promises: an object is only touched if every size, table and function in it is what the header
//           makes of it, its initialisation is complete, and no tool has filled it; what was
//           written is undone by release_late_tables()
// Not here: copies that look for us themselves (initialize.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "inject/nvtx/nvtx_types.hpp"

namespace gpuprof::nvtx {

/// The object nvtxGlobals_v3 of one copy of the header, as NVTX 3 lays it out.
struct NvtxGlobals {
  std::uint32_t state, padding;
  NvtxExportTableCallbacks callbacks;
  NvtxExportTableVersionInfo version;
  NvtxFunctionPointer core[15], cuda[8], opencl[14], cudart[6], core2[15], sync[6];
  NvtxFunctionPointer* core_table[NVTX_CBID_CORE_SIZE + 1];
  NvtxFunctionPointer* cuda_table[NVTX_CBID_CUDA_SIZE + 1];
  NvtxFunctionPointer* opencl_table[NVTX_CBID_OPENCL_SIZE + 1];
  NvtxFunctionPointer* cudart_table[NVTX_CBID_CUDART_SIZE + 1];
  NvtxFunctionPointer* core2_table[NVTX_CBID_CORE2_SIZE + 1];
  NvtxFunctionPointer* sync_table[NVTX_CBID_SYNC_SIZE + 1];
};
static_assert(sizeof(NvtxGlobals) == 1168 && offsetof(NvtxGlobals, core_table) == 560);

inline constexpr std::uint32_t kComplete = 2;  // NvtxGlobals::state: it has looked for a tool

/// Whether the words at `at` begin as such an object does; there must be 48 bytes.
bool looks_like_globals(const void* at);
/// Whether it is one: its tables lead to its own functions, and to nothing else.
bool valid_globals(const NvtxGlobals& globals);
/// Whether no tool has filled it.
bool has_no_tool(const NvtxGlobals& globals);

/// Fills the objects that have become ready for it since the last call. Costs one query to the
/// loader where nothing is new.
void fill_late_tables(std::uint64_t now_ns);

/// Takes our functions out again. The next fill_late_tables() begins anew.
void release_late_tables();

}  // namespace gpuprof::nvtx
