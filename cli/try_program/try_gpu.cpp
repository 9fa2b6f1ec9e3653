// SPDX-License-Identifier: Apache-2.0
//
// See try_gpu.hpp.
//
// Context:  gpuprof-try
#include "cli/try_program/try_gpu.hpp"

#include <dlfcn.h>

#include "cli/messages/doctor_trial.hpp"

namespace gpuprof::tried {

namespace {

// For the oldest devices that drivers of today compile it for.
constexpr char kProgram[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry gpuprof_try(.param .u64 unused)\n{\n  ret;\n}\n";
constexpr std::size_t kBytes = 1 << 16;
constexpr int kKernels = 10;

}  // namespace

template <typename F>
bool Gpu::find(F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(library_, name));
  return function != nullptr;
}

GpuStatus Gpu::open(const char** why) {
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*make_current)(void*) = nullptr;
  int (*load)(void**, const void*) = nullptr;
  int (*get)(void**, void*, const char*) = nullptr;
  int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
  int devices = 0;
  *why = messages::doctor_trial::kNoLibcuda;
  library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return GpuStatus::kNone;
  *why = messages::doctor_trial::kNoFunction;
  if (!find(init, "cuInit") || !find(count, "cuDeviceGetCount") ||
      !find(retain, "cuDevicePrimaryCtxRetain") || !find(make_current, "cuCtxSetCurrent") ||
      !find(load, "cuModuleLoadData") || !find(get, "cuModuleGetFunction") ||
      !find(allocate, "cuMemAlloc_v2") || !find(launch_, "cuLaunchKernel") ||
      !find(copy_, "cuMemcpyHtoD_v2") || !find(set_, "cuMemsetD8_v2") ||
      !find(wait_, "cuCtxSynchronize"))
    return GpuStatus::kBroken;
  constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
  *why = messages::doctor_trial::kNoDevice;
  const int started = init(0);
  if (started == kNoDevice) return GpuStatus::kNone;
  if (started == 0 && count(&devices) == 0 && devices == 0) return GpuStatus::kNone;
  *why = messages::doctor_trial::kNotInitialised;
  if (started != 0 || devices == 0) return GpuStatus::kBroken;
  *why = messages::doctor_trial::kNoContext;
  if (retain(&context_, 0) != 0 || make_current(context_) != 0 || allocate(&buffer_, kBytes) != 0)
    return GpuStatus::kBroken;
  *why = messages::doctor_trial::kNoKernel;
  const bool compiled = load(&module_, kProgram) == 0 && get(&kernel_, module_, "gpuprof_try") == 0;
  return compiled ? GpuStatus::kUsable : GpuStatus::kBroken;
}

bool Gpu::run_workload() {
  static char bytes[kBytes];
  std::uint64_t nothing = 0;
  void* arguments[] = {&nothing};
  for (int i = 0; i < kKernels; ++i) {
    if (launch_(kernel_, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr) != 0) return false;
    ++counts_.kernels;
  }
  if (copy_(buffer_, bytes, kBytes) != 0) return false;
  ++counts_.copies;
  if (set_(buffer_, 1, kBytes) != 0) return false;
  ++counts_.sets;
  return wait_() == 0;
}

}  // namespace gpuprof::tried
