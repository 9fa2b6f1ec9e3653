// SPDX-License-Identifier: Apache-2.0
//
// Driver API: modules and functions.
//
// Context:  application threads
// Owns:     nothing
// Promises: the name asked for is the kernel's name
// Not here: images (modules.cpp), launches (launch_api.cpp)
#include "cuda/api.hpp"
#include "cuda/modules.hpp"

using namespace gpusim;

namespace {

Module* module_of(CUmodule handle) { return reinterpret_cast<Module*>(handle); }

int load(CUmodule* out, const void* image) {
  Context* c = current_context();
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (c == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *out = reinterpret_cast<CUmodule>(load_image(c, image));
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuModuleLoad(CUmodule* module, const char* fname) {
  GPUSIM_DRIVER_API(cuModuleLoad, module, fname);
  Module* m = nullptr;
  if (module == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  if (current_context() == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_CONTEXT);
  const int result = load_file(current_context(), fname, &m);
  *module = reinterpret_cast<CUmodule>(m);
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  GPUSIM_DRIVER_API(cuModuleLoadData, module, image);
  return GPUSIM_DONE(load(module, image));
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions,
                                    CUjit_option* options, void** optionValues) {
  GPUSIM_DRIVER_API(cuModuleLoadDataEx, module, image, numOptions, options, optionValues);
  return GPUSIM_DONE(load(module, image));
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
  GPUSIM_DRIVER_API(cuModuleLoadFatBinary, module, fatCubin);
  return GPUSIM_DONE(load(module, fatCubin));
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod) {
  GPUSIM_DRIVER_API(cuModuleUnload, hmod);
  Module* m = module_of(hmod);
  if (!live(m) || m->image == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  unload(m);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  GPUSIM_DRIVER_API(cuModuleGetLoadingMode, mode);
  if (mode == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *mode = CU_MODULE_LAZY_LOADING;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  GPUSIM_DRIVER_API(cuModuleGetFunction, hfunc, hmod, name);
  Function* f = nullptr;
  if (hfunc == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  const int result = find_kernel(module_of(hmod), name, &f);
  *hfunc = reinterpret_cast<CUfunction>(f);
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod,
                                      const char* name) {
  GPUSIM_DRIVER_API(cuModuleGetGlobal_v2, dptr, bytes, hmod, name);
  ModuleVariable v{};
  const int result = find_variable(module_of(hmod), name, &v);
  if (result == CUDA_SUCCESS && dptr != nullptr) *dptr = v.address;
  if (result == CUDA_SUCCESS && bytes != nullptr) *bytes = v.bytes;
  return GPUSIM_DONE(result);
}

CUresult CUDAAPI cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  GPUSIM_DRIVER_API(cuFuncGetAttribute, pi, attrib, hfunc);
  const Function* f = function_of(hfunc);
  if (pi == nullptr || f == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *pi = function_attribute(*f, attrib);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  GPUSIM_DRIVER_API(cuFuncSetAttribute, hfunc, attrib, value);
  Function* f = function_of(hfunc);
  return GPUSIM_DONE(f != nullptr ? set_function_attribute(*f, attrib, value)
                                  : CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
  GPUSIM_DRIVER_API(cuFuncSetCacheConfig, hfunc, config);
  return GPUSIM_DONE(function_of(hfunc) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuFuncGetName(const char** name, CUfunction hfunc) {
  GPUSIM_DRIVER_API(cuFuncGetName, name, hfunc);
  const Function* f = function_of(hfunc);
  if (name == nullptr || f == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *name = f->name;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  GPUSIM_DRIVER_API(cuFuncGetModule, hmod, hfunc);
  const Function* f = function_of(hfunc);
  if (hmod == nullptr || f == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *hmod = reinterpret_cast<CUmodule>(f->module);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncLoad(CUfunction function) {
  GPUSIM_DRIVER_API(cuFuncLoad, function);
  return GPUSIM_DONE(function_of(function) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  GPUSIM_DRIVER_API(cuFuncIsLoaded, state, function);
  if (state == nullptr || function_of(function) == nullptr)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

}  // extern "C"
