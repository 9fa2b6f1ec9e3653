// SPDX-License-Identifier: Apache-2.0
//
// Queueing and launching.
//
// Context:  application threads
// Owns:     one queue for each thread that is inside a group
// Promises: see group.hpp
// Not here: kernel names (kernel_names.cpp)
#include "nccl/group.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>
#include <generated_cuda_runtime_api_meta.h>

#include <algorithm>

#include "core/api_scope.hpp"
#include "core/driver.hpp"
#include "core/handles.hpp"
#include "core/work/library_kernel.hpp"
#include "core/work/timeline.hpp"
#include "nccl/kernel_names.hpp"

namespace gpusim {
namespace {

/// One kernel to come: a collective, or all messages of a communicator and stream.
struct Work {
  ncclComm* comm;
  Stream* stream;
  Collective collective;
  std::vector<Message> messages;
};

struct Group {
  std::vector<ncclComm*> joining;
  std::vector<Work> work;
};

thread_local int t_depth;
thread_local Group* t_group;

Group& group() {
  if (t_group == nullptr) t_group = new Group;
  return *t_group;
}

ncclResult_t as_result(int cuda_error) {
  return cuda_error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

/// A communicator of one rank has nobody to talk to: it copies, with no kernel of its own.
ncclResult_t copy_alone(const Work& w, const void* from, void* to, std::size_t bytes) {
  if (from == to || bytes == 0) return ncclSuccess;
  const cudaMemcpyAsync_v3020_params params{to, from, bytes, cudaMemcpyDeviceToDevice,
                                            reinterpret_cast<cudaStream_t>(w.stream)};
  ApiScope scope(ApiDomain::kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
                 "cudaMemcpyAsync", &params);
  DeviceOp op{};
  op.kind = OpKind::kMemcpy;
  op.async = true;
  op.copy_kind = kDtoD;
  op.src_kind = op.dst_kind = kDeviceMemory;
  op.bytes = bytes;
  op.src_device = op.dst_device = static_cast<std::uint32_t>(w.comm->context->device->ordinal);
  const Effect effect{.to = reinterpret_cast<std::uintptr_t>(to),
                      .from = reinterpret_cast<std::uintptr_t>(from),
                      .bytes = bytes};
  return as_result(scope.finish(submit(w.stream, op, effect)));
}

ncclResult_t launch_alone(const Work& w) {
  const Collective& c = w.collective;
  if (w.messages.empty()) return copy_alone(w, c.from, c.to, c.count * size_of(c.number));
  // Sends and receives of a lone rank pair up in order.
  std::vector<const Message*> sends, receives;
  for (const Message& m : w.messages) (m.send ? sends : receives).push_back(&m);
  if (sends.size() != receives.size())
    return fail(w.comm, ncclInvalidUsage, "a lone rank must receive what it sends");
  ncclResult_t result = ncclSuccess;
  for (std::size_t i = 0; i < sends.size() && result == ncclSuccess; ++i)
    result = copy_alone(w, sends[i]->buffer, receives[i]->buffer,
                        std::min(sends[i]->bytes, receives[i]->bytes));
  return result;
}

/// In a captured graph a collective is a plain kernel: a replay waits for no other rank.
std::unique_ptr<Rendezvous> rendezvous(const Work& w) {
  if (w.stream->capture != nullptr) return nullptr;
  return w.messages.empty() ? next_round(w.comm->rank, w.collective)
                            : next_messages(w.comm->rank, w.messages);
}

ncclResult_t launch(const Work& w) {
  const int ranks = w.comm->rank.segment->ranks();
  if (ranks == 1) return launch_alone(w);
  const LibraryKernel kernel =
      w.messages.empty() ? kernel_of(w.collective, ranks) : kernel_of(w.messages, ranks);
  return as_result(launch_library_kernel(w.stream, kernel, rendezvous(w)));
}

ncclResult_t launch_on_device(const Work& w) {
  if (!live(w.comm)) return fail(nullptr, ncclInvalidArgument, "communicator destroyed in a group");
  push_context(w.comm->context);
  const ncclResult_t result = launch(w);
  pop_context();
  return result;
}

/// What the outermost end does.
ncclResult_t run_queued() {
  Group queued;
  std::swap(queued, group());
  for (ncclComm* comm : queued.joining)
    if (!comm->rank.segment->wait_for_all())
      return fail(nullptr, ncclRemoteError, "a rank ended before all had joined");
  ncclResult_t result = ncclSuccess;
  for (const Work& w : queued.work)
    if (const ncclResult_t r = launch_on_device(w); result == ncclSuccess) result = r;
  return result;
}

ncclResult_t run_if_alone() { return t_depth == 0 ? run_queued() : ncclSuccess; }

/// The stream of a handle on the communicator's device.
Stream* stream_for(const ncclComm* comm, cudaStream_t handle) {
  const bool default_stream = reinterpret_cast<std::uintptr_t>(handle) <= 2;
  return default_stream ? &comm->context->null_stream : stream_of(handle);
}

}  // namespace

ncclResult_t run_in_group(ncclComm* comm, cudaStream_t handle, const Collective& collective) {
  Stream* stream = stream_for(comm, handle);
  if (stream == nullptr) return fail(comm, ncclInvalidArgument, "not a stream");
  group().work.push_back({comm, stream, collective, {}});
  return run_if_alone();
}

ncclResult_t run_in_group(ncclComm* comm, cudaStream_t handle, const Message& message) {
  Stream* stream = stream_for(comm, handle);
  if (stream == nullptr) return fail(comm, ncclInvalidArgument, "not a stream");
  std::vector<Work>& work = group().work;
  const auto same = std::find_if(work.begin(), work.end(), [&](const Work& w) {
    return w.comm == comm && w.stream == stream && !w.messages.empty();
  });
  if (same != work.end())
    same->messages.push_back(message);
  else
    work.push_back({comm, stream, {}, {message}});
  return run_if_alone();
}

ncclResult_t wait_in_group(ncclComm* comm) {
  group().joining.push_back(comm);
  return run_if_alone();
}

bool in_group() { return t_depth > 0; }

float drop_group() {
  double ns = 0;
  for (const Work& w : group().work) {
    const int ranks = w.comm->rank.segment->ranks();
    ns += static_cast<double>(w.messages.empty() ? collective_ns(w.collective, ranks)
                                                 : messages_ns(w.messages, ranks));
  }
  group() = {};
  t_depth = 0;
  return static_cast<float>(ns * 1e-3);
}

}  // namespace gpusim

using namespace gpusim;

extern "C" {

ncclResult_t ncclGroupStart() {
  ++t_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (t_depth == 0) return fail(nullptr, ncclInvalidUsage, "ncclGroupEnd without a start");
  if (--t_depth > 0) return ncclSuccess;
  const ncclResult_t result = run_queued();
  delete t_group;
  t_group = nullptr;
  return result;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo) {
  if (t_depth == 0) return fail(nullptr, ncclInvalidUsage, "ncclGroupSimulateEnd without a start");
  const float time = drop_group();
  if (simInfo != nullptr) simInfo->estimatedTime = time;
  return ncclSuccess;
}

}  // extern "C"
