// SPDX-License-Identifier: Apache-2.0
//
// As many kernel launches as asked for, as fast as asked for, on several streams: the load under
// which a profiler must lose nothing or say what it lost.
//
//   sim_storm [--launches N] [--streams N] [--rate PER_SECOND] [--depth N] [--burst THREADS]
//
// With --burst, threads that end after 20 launches make them, so many at a time.
//
// Context:  a program of its own
// Owns:     nothing
// Promises: prints what it launched, in how long, as one line of JSON; rate 0 = no pause at all
// Not here: graphs, copies (trainer/)
#include <cuda.h>
#include <time.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

struct Options {
  long launches = 1000000;
  long streams = 4;
  long rate = 0;
  long depth = 8;
  long burst = 0;
};

constexpr int kKernels = 16;

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "sim_storm: %s gave %d\n", what, static_cast<int>(result));
  std::exit(3);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const long value = std::atol(argv[i + 1]);
    if (std::strcmp(argv[i], "--launches") == 0) o.launches = value;
    if (std::strcmp(argv[i], "--streams") == 0) o.streams = value;
    if (std::strcmp(argv[i], "--rate") == 0) o.rate = value;
    if (std::strcmp(argv[i], "--depth") == 0) o.depth = value;
    if (std::strcmp(argv[i], "--burst") == 0) o.burst = value;
  }
  return o;
}

struct Gpu {
  std::vector<CUstream> streams;
  CUfunction kernels[kKernels];
};

Gpu prepare(const Options& o) {
  Gpu gpu;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuModuleLoadData(&module, "image"), "cuModuleLoadData");
  for (int i = 0; i < kKernels; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "_ZN5storm6kernelILi%dEEvPfi", i);
    check(cuModuleGetFunction(&gpu.kernels[i], module, name), "cuModuleGetFunction");
  }
  gpu.streams.resize(static_cast<std::size_t>(o.streams));
  for (CUstream& s : gpu.streams)
    check(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return gpu;
}

/// A few real frames between main and the launch, as a program has.
__attribute__((noinline)) void launch_from(const Gpu& gpu, long i, long depth) {
  if (depth > 0) {
    launch_from(gpu, i, depth - 1);
    asm volatile("" ::: "memory");
    return;
  }
  const std::size_t stream = static_cast<std::size_t>(i) % gpu.streams.size();
  check(cuLaunchKernel(gpu.kernels[i % kKernels], 1, 1, 1, 32, 1, 1, 0, gpu.streams[stream],
                       nullptr, nullptr),
        "cuLaunchKernel");
}

/// Spins until it is time for launch `i`: sleeping would bunch the launches.
void keep_rate(const Options& o, std::uint64_t start_ns, long i) {
  if (o.rate <= 0) return;
  const std::uint64_t due = start_ns + static_cast<std::uint64_t>(static_cast<double>(i) * 1e9 /
                                                                  static_cast<double>(o.rate));
  while (now_ns() < due) {
  }
}

void launch_all(const Options& o, const Gpu& gpu, std::uint64_t start_ns) {
  for (long i = 0; i < o.launches; ++i) {
    keep_rate(o, start_ns, i);
    launch_from(gpu, i, o.depth);
  }
}

void launch_in_bursts(const Options& o, const Gpu& gpu) {
  constexpr long kLaunchesOfAThread = 20;
  CUcontext context = nullptr;
  check(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  for (long done = 0; done < o.launches;) {
    std::vector<std::thread> threads;
    for (long t = 0; t < o.burst && done < o.launches; ++t, done += kLaunchesOfAThread)
      threads.emplace_back([&gpu, &o, context, done] {
        check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
        for (long i = 0; i < kLaunchesOfAThread; ++i) launch_from(gpu, done + i, o.depth);
      });
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  const Gpu gpu = prepare(o);
  const std::uint64_t start_ns = now_ns();
  if (o.burst > 0)
    launch_in_bursts(o, gpu);
  else
    launch_all(o, gpu, start_ns);
  const std::uint64_t launched_ns = now_ns();
  for (CUstream s : gpu.streams) check(cuStreamSynchronize(s), "cuStreamSynchronize");
  const double seconds = static_cast<double>(launched_ns - start_ns) * 1e-9;
  std::printf("{\"launched\": %ld, \"seconds\": %.6f, \"launches_per_second\": %.0f}\n", o.launches,
              seconds, static_cast<double>(o.launches) / seconds);
  return 0;
}
