// SPDX-License-Identifier: Apache-2.0
//
// Driver API: modules, functions, occupancy, launches.
//
// Context:  application threads
// Owns:     nothing; objects live in core
// Promises: the name asked for is the kernel's name; its registers and shared memory follow from
// the name alone Not here: times (core/timeline.cpp)
#include <algorithm>
#include <cstring>

#include "core/hooks.hpp"
#include "core/timeline.hpp"
#include "cuda/api.hpp"

using namespace gpusim;

namespace {

Function* function_of(CUfunction handle) {
  auto* f = reinterpret_cast<Function*>(handle);
  return live(f) ? f : nullptr;
}

int load_module(CUmodule* out) {
  Context* c = current_context();
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (c == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  auto* m = new Module;
  m->context = c;
  if (const ToolHooks* h = hooks()) h->resource({.id = ResourceId::kModuleLoaded, .context = c});
  *out = reinterpret_cast<CUmodule>(m);
  return CUDA_SUCCESS;
}

/// Invented but stable figures: the same name always has the same registers and shared memory.
void invent_figures(Function& f) {
  std::uint32_t h = 2166136261u;
  for (const char* p = f.name; *p != '\0'; ++p)
    h = (h ^ static_cast<unsigned char>(*p)) * 16777619u;
  const bool tensor =
      std::strstr(f.name, "gemm") != nullptr || std::strstr(f.name, "s16816") != nullptr;
  f.registers = static_cast<std::uint16_t>(tensor ? 128 + h % 96 : 16 + h % 48);
  f.static_smem = tensor ? 16384 : (h >> 8) % 4 * 512;
}

struct Launch {
  unsigned grid[3], block[3], cluster[3];
  unsigned dynamic_smem;
  bool cooperative;
};

int launch(const Function* f, Stream* stream, const Launch& l) {
  if (f == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream == nullptr) return stream_error();
  const std::uint64_t threads = std::uint64_t{l.block[0]} * l.block[1] * l.block[2];
  if (threads == 0 || threads > 1024 || l.grid[0] == 0 || l.grid[1] == 0 || l.grid[2] == 0)
    return CUDA_ERROR_INVALID_VALUE;
  DeviceOp op{};
  op.kind = OpKind::kKernel;
  op.async = true;
  op.name = f->name;
  op.registers = f->registers;
  op.static_smem = f->static_smem;
  op.dynamic_smem = l.dynamic_smem;
  op.cooperative = l.cooperative;
  for (int i = 0; i < 3; ++i) {
    op.grid[i] = l.grid[i];
    op.block[i] = l.block[i];
    op.cluster[i] = l.cluster[i];
  }
  return submit(stream, op);
}

const char* symbol(CUfunction handle) {
  const Function* f = function_of(handle);
  return f != nullptr ? f->name : nullptr;
}

int occupancy(int* out, CUfunction func, int block, size_t dynamic) {
  const Function* f = function_of(func);
  const Context* c = current_context();
  if (out == nullptr || f == nullptr || c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = max_active_blocks(c->device->model, block, f->registers,
                           static_cast<int>(f->static_smem + dynamic));
  return CUDA_SUCCESS;
}

int attribute_of(const Function& f, CUfunction_attribute attrib) {
  switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(f.static_smem);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return f.registers;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return 80;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return f.max_dynamic_smem;
    default:
      return 0;
  }
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuModuleLoad(CUmodule* module, const char* fname) {
  GPUSIM_DRIVER_API(cuModuleLoad, module, fname);
  return GPUSIM_DONE(load_module(module));
}

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  GPUSIM_DRIVER_API(cuModuleLoadData, module, image);
  return GPUSIM_DONE(load_module(module));
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions,
                                    CUjit_option* options, void** optionValues) {
  GPUSIM_DRIVER_API(cuModuleLoadDataEx, module, image, numOptions, options, optionValues);
  return GPUSIM_DONE(load_module(module));
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod) {
  GPUSIM_DRIVER_API(cuModuleUnload, hmod);
  auto* m = reinterpret_cast<Module*>(hmod);
  if (!live(m)) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  if (const ToolHooks* h = hooks())
    h->resource({.id = ResourceId::kModuleUnloadStarting, .context = m->context});
  for (Function* f : m->functions) f->magic = kDead;
  m->magic = kDead;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  GPUSIM_DRIVER_API(cuModuleGetFunction, hfunc, hmod, name);
  auto* m = reinterpret_cast<Module*>(hmod);
  if (!live(m)) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  if (hfunc == nullptr || name == nullptr || *name == '\0')
    return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  auto* f = new Function;
  f->module = m;
  f->name = intern(name);
  invent_figures(*f);
  m->functions.push_back(f);
  *hfunc = reinterpret_cast<CUfunction>(f);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  GPUSIM_DRIVER_API(cuFuncGetAttribute, pi, attrib, hfunc);
  const Function* f = function_of(hfunc);
  if (pi == nullptr || f == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *pi = attribute_of(*f, attrib);
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  GPUSIM_DRIVER_API(cuFuncSetAttribute, hfunc, attrib, value);
  Function* f = function_of(hfunc);
  if (f == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  if (attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) f->max_dynamic_smem = value;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetName(const char** name, CUfunction hfunc) {
  GPUSIM_DRIVER_API(cuFuncGetName, name, hfunc);
  const Function* f = function_of(hfunc);
  if (name == nullptr || f == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_HANDLE);
  *name = f->name;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func,
                                                             int blockSize,
                                                             size_t dynamicSMemSize) {
  GPUSIM_DRIVER_API(cuOccupancyMaxActiveBlocksPerMultiprocessor, numBlocks, func, blockSize,
                    dynamicSMemSize);
  return GPUSIM_DONE(occupancy(numBlocks, func, blockSize, dynamicSMemSize));
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags) {
  GPUSIM_DRIVER_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, numBlocks, func,
                    blockSize, dynamicSMemSize, flags);
  return GPUSIM_DONE(occupancy(numBlocks, func, blockSize, dynamicSMemSize));
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void** kernelParams,
                                void** extra) {
  const cuLaunchKernel_params p{f,         gridDimX,     gridDimY,  gridDimZ,
                                blockDimX, blockDimY,    blockDimZ, sharedMemBytes,
                                hStream,   kernelParams, extra};
  GPUSIM_DRIVER_FRAME(cuLaunchKernel, &p, symbol(f));
  return GPUSIM_DONE(launch(function_of(f), stream_of(hStream),
                            {{gridDimX, gridDimY, gridDimZ},
                             {blockDimX, blockDimY, blockDimZ},
                             {},
                             sharedMemBytes,
                             false}));
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams,
                                  void** extra) {
  const cuLaunchKernelEx_params p{config, f, kernelParams, extra};
  GPUSIM_DRIVER_FRAME(cuLaunchKernelEx, &p, symbol(f));
  if (config == nullptr) return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  Launch l{{config->gridDimX, config->gridDimY, config->gridDimZ},
           {config->blockDimX, config->blockDimY, config->blockDimZ},
           {},
           config->sharedMemBytes,
           false};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& a = config->attrs[i];
    if (a.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) l.cooperative = a.value.cooperative != 0;
    if (a.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    l.cluster[0] = a.value.clusterDim.x;
    l.cluster[1] = a.value.clusterDim.y;
    l.cluster[2] = a.value.clusterDim.z;
  }
  return GPUSIM_DONE(launch(function_of(f), stream_of(config->hStream), l));
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes,
                                           CUstream hStream, void** kernelParams) {
  const cuLaunchCooperativeKernel_params p{f,         gridDimX,    gridDimY,  gridDimZ,
                                           blockDimX, blockDimY,   blockDimZ, sharedMemBytes,
                                           hStream,   kernelParams};
  GPUSIM_DRIVER_FRAME(cuLaunchCooperativeKernel, &p, symbol(f));
  return GPUSIM_DONE(launch(function_of(f), stream_of(hStream),
                            {{gridDimX, gridDimY, gridDimZ},
                             {blockDimX, blockDimY, blockDimZ},
                             {},
                             sharedMemBytes,
                             true}));
}

}  // extern "C"
