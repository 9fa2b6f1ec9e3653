// SPDX-License-Identifier: Apache-2.0
//
// Driver API: libraries and context-independent kernels.
//
// Context:  application threads
// Owns:     nothing
// Promises: a library is a module, a kernel is a function: there is one of each for all devices
// Not here: images (modules.cpp)
#include "cuda/api.hpp"
#include "cuda/modules.hpp"

using namespace gpusim;

namespace {

Module* module_of(CUlibrary handle) { return reinterpret_cast<Module*>(handle); }

Function* function_of(CUkernel handle) {
  auto* f = reinterpret_cast<Function*>(handle);
  return live(f) ? f : nullptr;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jitOptions,
                                   void** jitOptionsValues, unsigned int numJitOptions,
                                   CUlibraryOption* libraryOptions, void** libraryOptionValues,
                                   unsigned int numLibraryOptions) {
  GPUSIM_DRIVER_API(cuLibraryLoadData, library, code, jitOptions, jitOptionsValues, numJitOptions,
                    libraryOptions, libraryOptionValues, numLibraryOptions);
  if (library == nullptr || code == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *library = reinterpret_cast<CUlibrary>(load_image(current_context(), code));
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary* library, const char* fileName,
                                       CUjit_option* jitOptions, void** jitOptionsValues,
                                       unsigned int numJitOptions, CUlibraryOption* libraryOptions,
                                       void** libraryOptionValues, unsigned int numLibraryOptions) {
  GPUSIM_DRIVER_API(cuLibraryLoadFromFile, library, fileName, jitOptions, jitOptionsValues,
                    numJitOptions, libraryOptions, libraryOptionValues, numLibraryOptions);
  Module* m = nullptr;
  if (library == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const int result = load_file(current_context(), fileName, &m);
  *library = reinterpret_cast<CUlibrary>(m);
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
  GPUSIM_DRIVER_API(cuLibraryUnload, library);
  Module* m = module_of(library);
  if (!live(m) || m->image == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  unload(m);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  GPUSIM_DRIVER_API(cuLibraryGetKernel, pKernel, library, name);
  Function* f = nullptr;
  if (pKernel == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const int result = find_kernel(module_of(library), name, &f);
  *pKernel = reinterpret_cast<CUkernel>(f);
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) {
  GPUSIM_DRIVER_API(cuLibraryGetKernelCount, count, lib);
  const Module* m = module_of(lib);
  if (count == nullptr || !live(m) || m->image == nullptr)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *count = static_cast<unsigned>(m->image->figures.size());
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  GPUSIM_DRIVER_API(cuLibraryGetModule, pMod, library);
  if (pMod == nullptr || !live(module_of(library))) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *pMod = reinterpret_cast<CUmodule>(library);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library,
                                    const char* name) {
  GPUSIM_DRIVER_API(cuLibraryGetGlobal, dptr, bytes, library, name);
  ModuleVariable v{};
  const int result = find_variable(module_of(library), name, &v);
  if (result == CUDA_SUCCESS && dptr != nullptr) *dptr = v.address;
  if (result == CUDA_SUCCESS && bytes != nullptr) *bytes = v.bytes;
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  GPUSIM_DRIVER_API(cuKernelGetFunction, pFunc, kernel);
  if (pFunc == nullptr || function_of(kernel) == nullptr)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *pFunc = reinterpret_cast<CUfunction>(kernel);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel,
                                      CUdevice dev) {
  GPUSIM_DRIVER_API(cuKernelGetAttribute, pi, attrib, kernel, dev);
  const Function* f = function_of(kernel);
  if (pi == nullptr || f == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *pi = function_attribute(*f, attrib);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                      CUdevice dev) {
  GPUSIM_DRIVER_API(cuKernelSetAttribute, attrib, val, kernel, dev);
  Function* f = function_of(kernel);
  return GPUSIM_DONE(f != nullptr ? set_function_attribute(*f, attrib, val)
                                  : CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
  GPUSIM_DRIVER_API(cuKernelSetCacheConfig, kernel, config, dev);
  return GPUSIM_DONE(function_of(kernel) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuKernelGetName(const char** name, CUkernel hfunc) {
  GPUSIM_DRIVER_API(cuKernelGetName, name, hfunc);
  const Function* f = function_of(hfunc);
  if (name == nullptr || f == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *name = f->name;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel) {
  GPUSIM_DRIVER_API(cuKernelGetLibrary, pLib, kernel);
  const Function* f = function_of(kernel);
  if (pLib == nullptr || f == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *pLib = reinterpret_cast<CUlibrary>(f->module);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

}  // extern "C"
