// SPDX-License-Identifier: Apache-2.0
//
// A program as `nvcc -cudart shared` would build it: kernels on streams, copies, fills, events,
// callbacks, a graph, memory pools. Says what it saw, one line each.
//
//   sim_cudart_app [work [STEPS] | errors | refusals FILE]
//
// Context:  tests
// Owns:     nothing
// Promises: knows nothing of the simulated GPU; ends with 1 if a call fails that should not
// Not here: what nvcc generates (nvcc_parts.hpp)
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "programs/nvcc_parts.hpp"

namespace {

__attribute__((constructor)) void register_kernels() { nvcc_parts::register_all(); }

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::printf("failed %s %d %s\n", what, result, cudaGetErrorString(result));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

constexpr int kCount = 4096;
std::atomic<int> g_called{0};

void count_call(void* by) { g_called += *static_cast<int*>(by); }
void count_stream(cudaStream_t, cudaError_t status, void*) { g_called += status == 0 ? 10 : 1000; }

struct Memory {
  float *host = nullptr, *device = nullptr, *sum = nullptr;
};

Memory make_memory() {
  Memory m;
  CHECK(cudaHostAlloc(reinterpret_cast<void**>(&m.host), kCount * sizeof(float), 0));
  CHECK(cudaMalloc(reinterpret_cast<void**>(&m.device), kCount * sizeof(float)));
  CHECK(cudaMalloc(reinterpret_cast<void**>(&m.sum), sizeof(float)));
  for (int i = 0; i < kCount; ++i) m.host[i] = static_cast<float>(i);
  return m;
}

void launch_pair(const Memory& m, cudaStream_t stream) {
  if (__cudaPushCallConfiguration(dim3(16), dim3(256), 0, stream) == 0)
    nvcc_parts::scale(m.device, 2.0f, kCount);
  if (__cudaPushCallConfiguration(dim3(1), dim3(128, 2), 1024, stream) == 0)
    nvcc_parts::reduce(m.device, m.sum, kCount);
  CHECK(cudaGetLastError());
}

void step(const Memory& m, cudaStream_t stream) {
  CHECK(cudaMemcpyAsync(m.device, m.host, kCount * sizeof(float), cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemsetAsync(m.sum, 0, sizeof(float), stream));
  launch_pair(m, stream);
}

void copies(const Memory& m) {
  std::vector<float> back(kCount, -1);
  CHECK(cudaMemcpy(back.data(), m.device, kCount * sizeof(float), cudaMemcpyDefault));
  std::printf("roundtrip same %d\n", std::memcmp(back.data(), m.host, kCount * sizeof(float)) == 0);
  float out[64] = {}, in[64];
  for (int i = 0; i < 64; ++i) in[i] = static_cast<float>(i * i);
  CHECK(cudaMemcpyToSymbol(nvcc_parts::table, in, 32, 64, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyFromSymbol(out, nvcc_parts::table, 32, 64, cudaMemcpyDeviceToHost));
  std::printf("symbol same %d\n", std::memcmp(in, out, 32) == 0);
  CHECK(cudaMemset2D(m.device, 64, 0xff, 32, 4));
  unsigned char rows[4][32] = {};
  CHECK(cudaMemcpy2D(rows, 32, m.device, 64, 32, 4, cudaMemcpyDeviceToHost));
  std::printf("rows first %d last %d\n", rows[0][0], rows[3][31]);
}

void callbacks(cudaStream_t stream) {
  int by = 1;
  CHECK(cudaLaunchHostFunc(stream, count_call, &by));
  CHECK(cudaStreamAddCallback(stream, count_stream, nullptr, 0));
  CHECK(cudaStreamSynchronize(stream));
  std::printf("called times %d\n", g_called.load());
}

void graph(const Memory& m, cudaStream_t stream) {
  cudaGraph_t made = nullptr;
  cudaGraphExec_t exec = nullptr;
  size_t nodes = 0;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  step(m, stream);
  CHECK(cudaStreamEndCapture(stream, &made));
  CHECK(cudaGraphGetNodes(made, nullptr, &nodes));
  CHECK(cudaGraphInstantiate(&exec, made, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(made));
  std::printf("graph nodes %zu\n", nodes);
}

void pools(cudaStream_t stream) {
  size_t before = 0, during = 0, after = 0, total = 0;
  void* p = nullptr;
  CHECK(cudaMemGetInfo(&before, &total));
  CHECK(cudaMallocAsync(&p, 1 << 20, stream));
  CHECK(cudaMemGetInfo(&during, &total));
  CHECK(cudaFreeAsync(p, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemGetInfo(&after, &total));
  std::printf("pool taken %zu left %zu\n", before - during, before - after);
}

int work(int steps) {
  cudaStream_t streams[2];
  cudaEvent_t first, last;
  float ms = -1;
  const Memory m = make_memory();
  for (cudaStream_t& s : streams) CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&first));
  CHECK(cudaEventCreate(&last));
  CHECK(cudaEventRecord(first, streams[0]));
  for (int i = 0; i < steps; ++i) step(m, streams[i % 2]);
  CHECK(cudaEventRecord(last, streams[0]));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventElapsedTime(&ms, first, last));
  std::printf("elapsed positive %d\n", ms > 0);
  copies(m);
  callbacks(streams[0]);
  graph(m, streams[1]);
  pools(streams[0]);
  CHECK(cudaFree(m.device));
  CHECK(cudaFree(m.sum));
  CHECK(cudaFreeHost(m.host));
  std::printf("done steps %d\n", steps);
  return 0;
}

void say(const char* what, cudaError_t result) {
  const cudaError_t last = cudaGetLastError();
  std::printf("error %s %d last %d then %d\n", what, result, last, cudaPeekAtLastError());
}

int errors() {
  const auto* kernel = reinterpret_cast<const void*>(&nvcc_parts::scale);
  void* p = nullptr;
  cudaDeviceProp prop;
  cudaStream_t stream = nullptr;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  std::printf("device %s\n", prop.name);
  CHECK(cudaStreamCreate(&stream));
  say("block", cudaLaunchKernel(kernel, dim3(1), dim3(2048), nullptr, 0, nullptr));
  say("grid", cudaLaunchKernel(kernel, dim3(0), dim3(32), nullptr, 0, nullptr));
  say("smem", cudaLaunchKernel(kernel, dim3(1), dim3(32), nullptr, 1 << 20, nullptr));
  say("kernel", cudaLaunchKernel(&stream, dim3(1), dim3(32), nullptr, 0, nullptr));
  say("cooperative",
      cudaLaunchCooperativeKernel(kernel, dim3(1 << 20), dim3(256), nullptr, 0, nullptr));
  say("memory", cudaMalloc(&p, prop.totalGlobalMem + 1));
  say("free", cudaFree(&p));
  void* small = nullptr;
  CHECK(cudaMalloc(&small, 4096));
  say("copy", cudaMemcpy(small, &prop, 1 << 30, cudaMemcpyHostToDevice));
  say("fill", cudaMemset(small, 1, 1 << 30));
  say("rows", cudaMemset2D(small, 1 << 20, 1, 16, 1 << 20));
  say("endless", cudaMemcpyAsync(&prop, small, ~size_t{0}, cudaMemcpyDeviceToHost, nullptr));
  say("function", cudaLaunchKernel(nullptr, dim3(1), dim3(32), nullptr, 0, nullptr));
  CHECK(cudaFree(small));
  say("device", cudaSetDevice(99));
  say("symbol", cudaGetSymbolAddress(&p, &stream));
  say("legacy", cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  say("sync", cudaStreamSynchronize(stream));
  std::printf("text %s\n", cudaGetErrorString(cudaErrorInvalidConfiguration));
  return 0;
}

/// Calls every function named in FILE, one name a line, with nothing but zeros.
int refusals(const char* file) {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  std::ifstream in(file);
  for (std::string name; std::getline(in, name);) {
    using Any = int (*)(long, long, long, long, long, long);
    const auto call = reinterpret_cast<Any>(dlsym(RTLD_DEFAULT, name.c_str()));
    std::printf("refused name %s code %d\n", name.c_str(),
                call != nullptr ? call(0, 0, 0, 0, 0, 0) : -1);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "work";
  if (mode == "errors") return errors();
  if (mode == "refusals" && argc > 2) return refusals(argv[2]);
  if (mode == "work") return work(argc > 2 ? std::atoi(argv[2]) : 4);
  std::fprintf(stderr, "usage: %s [work [STEPS] | errors | refusals FILE]\n", argv[0]);
  return 2;
}
