// SPDX-License-Identifier: Apache-2.0
//
// Driver API: finding driver functions by name.
//
// Context:  application threads
// Owns:     nothing
// Promises: answers are functions of this very library; what it does not implement is found too and
//           refuses when called, as an older driver would
// Not here: the functions
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "cuda/api.hpp"
#include "cuda/versions.hpp"
#include "stand_in/refuse.hpp"

using namespace gpusim;

namespace {

/// A symbol that this library exports, or null.
void* own_symbol(const char* name) {
  // Kept open for ever: the library is in the process anyway.
  static void* const self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(&own_symbol), &info);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  void* found = self != nullptr ? dlsym(self, name) : nullptr;
  Dl_info mine{}, its{};
  if (found == nullptr || dladdr(found, &its) == 0) return nullptr;
  dladdr(reinterpret_cast<const void*>(&own_symbol), &mine);
  // dlsym also looks into the libraries this one needs.
  return mine.dli_fbase == its.dli_fbase ? found : nullptr;
}

void* with_flags(const char* name, cuuint64_t flags) {
  if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0)
    for (const char* suffix : {"_ptsz", "_ptds"}) {
      char twin[256];
      std::snprintf(twin, sizeof twin, "%s%s", name, suffix);
      if (void* found = own_symbol(twin)) return found;
    }
  return own_symbol(name);
}

void* by_version(const char* symbol, int version, cuuint64_t flags, bool* too_old) {
  void* best = nullptr;
  for (int i = 0; i < kFunctionVersionCount; ++i) {
    const FunctionVersion& row = kFunctionVersions[i];
    if (std::strcmp(row.asked, symbol) != 0) continue;
    void* found = with_flags(row.symbol, flags);
    if (found == nullptr) continue;
    if (row.version > version) {
      *too_old = best == nullptr;
      break;
    }
    best = found;
  }
  return best;
}

/// For names that the headers do not date.
void* newest(const char* symbol, cuuint64_t flags) {
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    char name[256];
    std::snprintf(name, sizeof name, "%s%s", symbol, suffix);
    if (void* found = with_flags(name, flags)) return found;
  }
  return nullptr;
}

int look_up(const char* symbol, void** pfn, int version, cuuint64_t flags,
            CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || pfn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  bool too_old = false;
  *pfn =
      std::strncmp(symbol, "cu", 2) == 0 ? by_version(symbol, version, flags, &too_old) : nullptr;
  if (*pfn == nullptr && !too_old && std::strncmp(symbol, "cu", 2) == 0)
    *pfn = newest(symbol, flags);
  if (status != nullptr)
    *status = *pfn != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : too_old       ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                              : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *pfn != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuGetExportTable(const void** ppExportTable, const CUuuid* pExportTableId) {
  GPUSIM_DRIVER_API(cuGetExportTable, ppExportTable, pExportTableId);
  if (ppExportTable != nullptr) *ppExportTable = nullptr;
  return GPUSIM_DONE(gpusim_refuse("cuGetExportTable"));
}

CUresult CUDAAPI cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion,
                                     cuuint64_t flags,
                                     CUdriverProcAddressQueryResult* symbolStatus) {
  // Valid before cuInit, where a frame would refuse.
  if (is_stub()) return CUDA_ERROR_STUB_LIBRARY;
  if (driver_status() != CUDA_SUCCESS)
    return static_cast<CUresult>(look_up(symbol, pfn, cudaVersion, flags, symbolStatus));
  GPUSIM_DRIVER_API(cuGetProcAddress_v2, symbol, pfn, cudaVersion, flags, symbolStatus);
  return GPUSIM_DONE(look_up(symbol, pfn, cudaVersion, flags, symbolStatus));
}

#undef cuGetProcAddress
CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion,
                                  cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, nullptr);
}

}  // extern "C"
