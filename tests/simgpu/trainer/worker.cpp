// SPDX-License-Identifier: Apache-2.0
//
// The step loop.
//
// Context:  its own thread
// Owns:     everything it created on the device
// Promises: the number and order of calls depend on the options alone
// Not here: see worker.hpp
#include "trainer/worker.hpp"

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "trainer/host_work.hpp"
#include "trainer/kernel_names.hpp"
#include "trainer/own_profiler.hpp"
#include "trainer/ranges.hpp"

namespace trainer {
namespace {

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(result, &text);
  std::fprintf(stderr, "sim_trainer: %s: %s (%d)\n", what, text != nullptr ? text : "?", result);
  std::_Exit(3);
}
#define CHECK(call) check(call, #call)

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void sleep_until(double when) {
  const double left = when - now_s();
  if (left <= 0) return;
  timespec t{static_cast<time_t>(left),
             static_cast<long>((left - static_cast<double>(static_cast<time_t>(left))) * 1e9)};
  nanosleep(&t, nullptr);
}

/// A training thread's view of its device.
class Worker {
 public:
  Worker(const Options& options, int index, Counters& counters,
         void (*on_progress)(const Counters&))
      : o_(options), index_(index), c_(counters), on_progress_(on_progress) {
    set_up();
  }

  void run() {
    next_launch_ = now_s();
    for (long step = 0; o_.forever || step < o_.steps; ++step) one_step(step);
    own_profiler(o_.steps);
    CHECK(cuCtxSynchronize());
  }

 private:
  void set_up() {
    CUdevice device{};
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, static_cast<int>(index_ % o_.devices)));
    CHECK(cuDevicePrimaryCtxRetain(&context_, device));
    CHECK(cuCtxSetCurrent(context_));
    if (o_.devices > 1) {
      CHECK(cuDevicePrimaryCtxRetain(&peer_, static_cast<CUdevice>((index_ + 1) % o_.devices)));
      CHECK(cuCtxPushCurrent(peer_));
      CHECK(cuMemAlloc(&peer_memory_, bytes()));
      CHECK(cuCtxPopCurrent(nullptr));
    }
    streams_.resize(static_cast<std::size_t>(o_.streams < 1 ? 1 : o_.streams));
    for (std::size_t i = 0; i < streams_.size(); ++i)
      CHECK(cuStreamCreateWithPriority(&streams_[i], CU_STREAM_NON_BLOCKING, i == 0 ? 0 : -1));
    CHECK(cuModuleLoadData(&module_, "simulated"));
    for (int i = 0; i < kKernelNames; ++i)
      CHECK(cuModuleGetFunction(&functions_[i], module_, kNames[i]));
    CHECK(cuMemAlloc(&device_memory_, bytes()));
    CHECK(cuMemHostAlloc(&host_memory_, bytes(), 0));
    CHECK(cuEventCreate(&ready_, CU_EVENT_DISABLE_TIMING));
    if (o_.graph_nodes > 0) capture();
  }

  std::size_t bytes() const {
    return static_cast<std::size_t>(o_.copy_bytes < 4096 ? 4096 : o_.copy_bytes);
  }

  void capture() {
    CUgraph graph{};
    CHECK(cuStreamBeginCapture(streams_[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (long i = 0; i < o_.graph_nodes; ++i)
      raw_launch(static_cast<int>(i % kKernelNames), streams_[0]);
    CHECK(cuStreamEndCapture(streams_[0], &graph));
    CHECK(cuGraphInstantiate(&graph_, graph, 0));
    CHECK(cuGraphDestroy(graph));
  }

  void raw_launch(int name, CUstream stream) {
    const unsigned grid = 32u << (name % 5);
    CHECK(cuLaunchKernel(functions_[name], grid, 1, 1, name % 2 == 0 ? 256 : 128, 1, 1, 0, stream,
                         nullptr, nullptr));
  }

  void launch(int name, CUstream stream) {
    if (o_.launch_rate > 0) {
      next_launch_ += 1 / o_.launch_rate;
      sleep_until(next_launch_);
    }
    raw_launch(name, stream);
    ++c_.kernels;
    ++c_.launches;
    ++c_.by_name[name];
    progress();
  }

  void progress() {
    if (index_ == 0 && on_progress_ != nullptr) on_progress_(c_);
  }

  void count_copy(int kind) {
    ++c_.copies[kind];
    c_.copy_bytes[kind] += o_.copy_bytes;
  }

  void load_batch() {
    const DataRange range;
    prepare_batch(o_.host_ms, o_.host_depth);
    for (long i = 0; i < o_.copies; ++i) {
      CHECK(cuMemcpyHtoDAsync(device_memory_, host_memory_, static_cast<std::size_t>(o_.copy_bytes),
                              streams_[0]));
      count_copy(0);
    }
    for (long i = 0; i < o_.memsets; ++i) {
      CHECK(cuMemsetD32Async(device_memory_, 0, bytes() / 4, streams_[0]));
      ++c_.memsets;
      c_.memset_bytes += static_cast<long>(bytes() / 4 * 4);
    }
    if (streams_.size() == 1) return;
    CHECK(cuEventRecord(ready_, streams_[0]));
    for (std::size_t i = 1; i < streams_.size(); ++i)
      CHECK(cuStreamWaitEvent(streams_[i], ready_, 0));
  }

  /// Kernel i of a step belongs to phase i * 3 / kernels, so the phases share a step evenly.
  void run_phase(int phase) {
    const Phase& p = kPhases[phase];
    const Range range(p.name);
    const long first = o_.kernels * phase / 3;
    const long last = o_.kernels * (phase + 1) / 3;
    for (long i = first; i < last; ++i) {
      const int name = p.first + static_cast<int>(i % (p.last - p.first));
      launch(name, streams_[static_cast<std::size_t>(i) % streams_.size()]);
    }
  }

  void replay() {
    if (graph_ == nullptr) return;
    CHECK(cuGraphLaunch(graph_, streams_[0]));
    ++c_.graph_launches;
    for (long i = 0; i < o_.graph_nodes; ++i) ++c_.by_name[i % kKernelNames];
    c_.kernels += o_.graph_nodes;
  }

  void finish_step() {
    if (o_.devices > 1) {
      CHECK(cuMemcpyPeerAsync(peer_memory_, peer_, device_memory_, context_,
                              static_cast<std::size_t>(o_.copy_bytes), streams_[0]));
      count_copy(3);
    }
    CHECK(cuMemcpyDtoHAsync(host_memory_, device_memory_, 1024, streams_[0]));
    ++c_.copies[1];
    c_.copy_bytes[1] += 1024;
    if (o_.no_sync) return;
    for (CUstream s : streams_) CHECK(cuStreamSynchronize(s));
  }

  /// The program's own profiler runs for the steps it was asked for.
  void own_profiler(long step) {
    if (index_ != 0 || o_.profile_until <= o_.profile_from) return;
    if (step == o_.profile_from && !start_own_profiler(o_.profile_subscribes))
      std::fprintf(stderr, "sim_trainer: no CUPTI to profile with\n");
    if (step == o_.profile_until) stop_own_profiler(o_.profile_keeps_kernels);
  }

  void one_step(long step) {
    own_profiler(step);
    const double begin = now_s();
    {
      const Range range(index_ == 0 ? o_.step_name.c_str() : "worker_step", step);
      load_batch();
      for (int phase = 0; phase < 3; ++phase) run_phase(phase);
      replay();
      finish_step();
      if (index_ == 0) mark("step done");
    }
    if (index_ == 0) ++c_.steps;
    if (o_.step_ms > 0) sleep_until(begin + o_.step_ms * 1e-3);
    progress();
  }

  const Options& o_;
  const int index_;
  Counters& c_;
  void (*on_progress_)(const Counters&);
  CUcontext context_ = nullptr, peer_ = nullptr;
  std::vector<CUstream> streams_;
  CUmodule module_ = nullptr;
  CUfunction functions_[kKernelNames] = {};
  CUdeviceptr device_memory_ = 0, peer_memory_ = 0;
  void* host_memory_ = nullptr;
  CUevent ready_ = nullptr;
  CUgraphExec graph_ = nullptr;
  double next_launch_ = 0;
};

}  // namespace

int cuda_devices() {
  int count = 0;
  CHECK(cuInit(0));
  CHECK(cuDeviceGetCount(&count));
  return count;
}

void train(const Options& options, int index, Counters& counters,
           void (*on_progress)(const Counters&)) {
  Worker worker(options, index, counters, on_progress);
  worker.run();
}

}  // namespace trainer
