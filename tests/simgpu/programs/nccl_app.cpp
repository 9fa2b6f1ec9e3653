// SPDX-License-Identifier: Apache-2.0
//
// An ordinary NCCL program: one process with a communicator on each of two devices.
//
// Context:  tests
// Owns:     nothing
// Promises: prints `key value` rows; exit code 1 at the first call that fails
// Not here: several processes (ranks.cpp)
#include <cuda.h>
#include <dlfcn.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void need(bool good, const char* what) {
  if (good) return;
  std::printf("failed %s\n", what);
  std::exit(1);
}

struct Place {
  CUcontext context;
  CUdeviceptr from, to;
};

void set(const Place& p, const std::vector<float>& values) {
  cuCtxSetCurrent(p.context);
  need(cuMemcpyHtoD(p.from, values.data(), values.size() * sizeof(float)) == 0, "copy to device");
}

float get(const Place& p, std::size_t index) {
  float value = 0;
  cuCtxSetCurrent(p.context);
  need(cuMemcpyDtoH(&value, p.to + index * sizeof value, sizeof value) == 0, "copy to host");
  return value;
}

const float* source(const Place& p) { return reinterpret_cast<const float*>(p.from); }
float* target(const Place& p) { return reinterpret_cast<float*>(p.to); }

void collectives(const Place* places, ncclComm_t* comms) {
  ncclGroupStart();
  for (int i = 0; i < 2; ++i)
    ncclAllReduce(source(places[i]), target(places[i]), 4, ncclFloat, ncclAvg, comms[i], nullptr);
  need(ncclGroupEnd() == ncclSuccess, "all-reduce");
  std::printf("average first %g second %g\n", static_cast<double>(get(places[0], 2)),
              static_cast<double>(get(places[1], 2)));
  ncclGroupStart();
  for (int i = 0; i < 2; ++i)
    ncclAllGather(source(places[i]), target(places[i]), 1, ncclFloat, comms[i], nullptr);
  need(ncclGroupEnd() == ncclSuccess, "all-gather");
  std::printf("gathered own %g other %g\n", static_cast<double>(get(places[1], 1)),
              static_cast<double>(get(places[1], 0)));
  ncclGroupStart();
  for (int i = 0; i < 2; ++i) {
    ncclSend(source(places[i]), 1, ncclFloat, 1 - i, comms[i], nullptr);
    ncclRecv(target(places[i]), 1, ncclFloat, 1 - i, comms[i], nullptr);
  }
  need(ncclGroupEnd() == ncclSuccess, "send and receive");
  std::printf("received first %g second %g\n", static_cast<double>(get(places[0], 0)),
              static_cast<double>(get(places[1], 0)));
}

void mistakes(ncclComm_t comm) {
  std::printf("mistake root %d end %d\n",
              ncclBroadcast(nullptr, nullptr, 1, ncclFloat, 7, comm, nullptr), ncclGroupEnd());
  ncclGroupStart();
  ncclComm_t part = nullptr;
  const ncclResult_t split = ncclCommSplit(comm, 0, 0, &part, nullptr);
  std::printf("split result %d end %d\n", split, ncclGroupEnd());
  ncclBroadcast(nullptr, nullptr, 1, ncclFloat, 7, comm, nullptr);
  std::printf("said %s\n", ncclGetLastError(comm));
  using Refused = int (*)(ncclComm_t, int);
  const auto suspend = reinterpret_cast<Refused>(dlsym(RTLD_DEFAULT, "ncclCommSuspend"));
  need(suspend != nullptr, "find ncclCommSuspend");
  std::printf("refused code %d\n", suspend(comm, 1));
}

}  // namespace

int main() {
  need(cuInit(0) == 0, "cuInit");
  Place places[2];
  for (int i = 0; i < 2; ++i) {
    need(cuDevicePrimaryCtxRetain(&places[i].context, i) == 0, "context");
    cuCtxSetCurrent(places[i].context);
    need(cuMemAlloc(&places[i].from, 64) == 0 && cuMemAlloc(&places[i].to, 64) == 0, "memory");
    const float base = static_cast<float>(i + 1);
    set(places[i], {base, base * 2, base * 3, base * 4});
  }
  ncclComm_t comms[2];
  need(ncclCommInitAll(comms, 2, nullptr) == ncclSuccess, "ncclCommInitAll");
  for (int i = 0; i < 2; ++i) {
    int count = 0, rank = -1, device = -1;
    ncclCommCount(comms[i], &count);
    ncclCommUserRank(comms[i], &rank);
    ncclCommCuDevice(comms[i], &device);
    std::printf("comm count %d rank %d device %d\n", count, rank, device);
  }
  collectives(places, comms);
  mistakes(comms[0]);
  for (ncclComm_t comm : comms) need(ncclCommDestroy(comm) == ncclSuccess, "ncclCommDestroy");
  std::printf("destroyed again %d\n", ncclCommDestroy(comms[0]));
  return 0;
}
