// SPDX-License-Identifier: Apache-2.0
//
// A server without Python that nobody prepared: threads that answer requests on streams of their
// own until the process is told to stop, for what is brought into it while it runs.
//
//   sim_server [--threads N] [--pause-us N]
//
// A request is a copy in, three kernels, a copy out, all waited for. Says "ready", and after
// SIGTERM how many requests each thread has answered; exit status 3 if a call of CUDA failed.
//
// Context:  a program of its own
// Owns:     nothing
// Promises: between SIGTERM and its end no request is left half done
// Not here: as fast as possible (launch_storm.cpp), steps and ranges (trainer/)
#include <cuda.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kKernels = 3;
constexpr std::size_t kBytes = 4096;

volatile sig_atomic_t g_stop = 0;
std::atomic<long> g_errors{0};

struct Model {
  CUcontext context = nullptr;
  CUfunction kernels[kKernels] = {};
};

bool good(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return true;
  std::fprintf(stderr, "sim_server: %s gave %d\n", what, static_cast<int>(result));
  g_errors.fetch_add(1);
  return false;
}

bool load(Model* model) {
  CUdevice device = 0;
  CUmodule module = nullptr;
  if (!good(cuInit(0), "cuInit") || !good(cuDeviceGet(&device, 0), "cuDeviceGet") ||
      !good(cuDevicePrimaryCtxRetain(&model->context, device), "cuDevicePrimaryCtxRetain") ||
      !good(cuCtxSetCurrent(model->context), "cuCtxSetCurrent") ||
      !good(cuModuleLoadData(&module, "image"), "cuModuleLoadData"))
    return false;
  for (int i = 0; i < kKernels; ++i) {
    const std::string name = "_ZN6server5layerILi" + std::to_string(i) + "EEvPf";
    if (!good(cuModuleGetFunction(&model->kernels[i], module, name.c_str()), "cuModuleGetFunction"))
      return false;
  }
  return true;
}

bool answer(const Model& model, CUstream stream, CUdeviceptr memory, std::vector<char>* body) {
  if (!good(cuMemcpyHtoDAsync(memory, body->data(), kBytes, stream), "cuMemcpyHtoDAsync"))
    return false;
  for (CUfunction kernel : model.kernels)
    if (!good(cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, stream, nullptr, nullptr),
              "cuLaunchKernel"))
      return false;
  return good(cuMemcpyDtoHAsync(body->data(), memory, kBytes, stream), "cuMemcpyDtoHAsync") &&
         good(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

void serve(const Model& model, useconds_t pause_us, long* answered) {
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  std::vector<char> body(kBytes);
  if (!good(cuCtxSetCurrent(model.context), "cuCtxSetCurrent") ||
      !good(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate") ||
      !good(cuMemAlloc(&memory, kBytes), "cuMemAlloc"))
    return;
  while (g_stop == 0 && answer(model, stream, memory, &body)) {
    ++*answered;
    usleep(pause_us);
  }
}

void stop(int) { g_stop = 1; }

long option(int argc, char** argv, const char* name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return std::atol(argv[i + 1]);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const auto threads = static_cast<std::size_t>(option(argc, argv, "--threads", 4));
  const auto pause_us = static_cast<useconds_t>(option(argc, argv, "--pause-us", 2000));
  signal(SIGTERM, stop);
  Model model;
  if (!load(&model)) return 3;
  std::vector<long> answered(threads);
  std::vector<std::thread> workers;
  for (long& count : answered) workers.emplace_back(serve, std::cref(model), pause_us, &count);
  std::printf("ready\n");
  std::fflush(stdout);
  for (std::thread& worker : workers) worker.join();
  for (const long count : answered) std::printf("answered %ld\n", count);
  std::printf("errors %ld\n", g_errors.load());
  return g_errors.load() == 0 ? 0 : 3;
}
