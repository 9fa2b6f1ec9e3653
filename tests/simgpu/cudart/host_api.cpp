// SPDX-License-Identifier: Apache-2.0
//
// Runtime API: host functions, stream callbacks and user objects.
//
// Context:  application threads
// Owns:     nothing
// Promises: host code runs when its turn on the stream comes
// Not here: the thread it runs on (core/work/stream_queue.cpp)
#include <atomic>
#include <memory>

#include "core/work/timeline.hpp"
#include "cudart/api.hpp"

using namespace gpusim;

namespace {

/// What a cudaUserObject_t points to.
struct UserObject {
  std::uint32_t magic = kLive;
  std::atomic<std::uint64_t> references{0};
  void* data = nullptr;
  cudaHostFn_t destroy = nullptr;
};

void release_reference(void* what, std::uint64_t count) {
  auto* u = static_cast<UserObject*>(what);
  if (u->references.fetch_sub(count) != count) return;
  u->magic = kDead;
  if (u->destroy != nullptr) u->destroy(u->data);
}

/// Lets the graph hold `count` references: the caller's own, or new ones.
int retain(cudaGraph_t graph, cudaUserObject_t handle, unsigned count, unsigned flags) {
  auto* g = object<Graph>(graph);
  auto* u = object<UserObject>(handle);
  if (g == nullptr || u == nullptr || count == 0) return cudaErrorInvalidValue;
  const bool move = (flags & cudaGraphUserObjectMove) != 0;
  if (move && count > u->references.load()) return cudaErrorInvalidValue;
  if (!move) u->references += count;
  g->holds.push_back(
      std::shared_ptr<GraphReference>(new GraphReference{release_reference, u, count}));
  return cudaSuccess;
}

/// Takes up to `count` of the graph's references back.
int release_held(cudaGraph_t graph, cudaUserObject_t handle, std::uint64_t count) {
  auto* g = object<Graph>(graph);
  if (g == nullptr) return cudaErrorInvalidValue;
  auto& holds = g->holds;
  for (std::size_t i = holds.size(); i-- > 0 && count > 0;) {
    if (holds[i]->what != handle || holds[i]->count > count) continue;
    count -= holds[i]->count;
    holds.erase(holds.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return count == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

int put(cudaStream_t handle, void (*function)(void*), void* user) {
  int error = cudaSuccess;
  Stream* s = runtime_stream(handle, &error);
  return s != nullptr ? enqueue_host_function(s, function, user) : error;
}

/// What a stream callback is called with.
struct Callback {
  cudaStreamCallback_t function;
  cudaStream_t stream;
  void* user;
};

void run_callback(void* data) {
  auto* c = static_cast<Callback*>(data);
  c->function(c->stream, cudaSuccess, c->user);
  delete c;
}

}  // namespace

extern "C" {

cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  GPUSIM_RUNTIME_API(cudaLaunchHostFunc, stream, fn, userData);
  if (fn == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  return GPUSIM_DONE(put(stream, fn, userData));
}

cudaError_t CUDARTAPI cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                            void* userData, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaStreamAddCallback, stream, callback, userData, flags);
  int error = cudaSuccess;
  const Stream* s = runtime_stream(stream, &error);
  if (s == nullptr) return GPUSIM_DONE(error);
  if (callback == nullptr || flags != 0) return GPUSIM_DONE(cudaErrorInvalidValue);
  if (s->capture != nullptr) return GPUSIM_DONE(cudaErrorStreamCaptureUnsupported);
  return GPUSIM_DONE(put(stream, run_callback, new Callback{callback, stream, userData}));
}

cudaError_t CUDARTAPI cudaUserObjectCreate(cudaUserObject_t* object_out, void* ptr,
                                           cudaHostFn_t destroy, unsigned int initialRefcount,
                                           unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaUserObjectCreate, object_out, ptr, destroy, initialRefcount, flags);
  if (object_out == nullptr || initialRefcount == 0) return GPUSIM_DONE(cudaErrorInvalidValue);
  auto* u = new UserObject;
  u->references = initialRefcount;
  u->data = ptr;
  u->destroy = destroy;
  *object_out = reinterpret_cast<cudaUserObject_t>(u);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaUserObjectRetain(cudaUserObject_t handle, unsigned int count) {
  GPUSIM_RUNTIME_API(cudaUserObjectRetain, handle, count);
  auto* u = object<UserObject>(handle);
  if (u == nullptr) return GPUSIM_DONE(cudaErrorInvalidValue);
  u->references += count;
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaUserObjectRelease(cudaUserObject_t handle, unsigned int count) {
  GPUSIM_RUNTIME_API(cudaUserObjectRelease, handle, count);
  auto* u = object<UserObject>(handle);
  if (u == nullptr || count > u->references.load()) return GPUSIM_DONE(cudaErrorInvalidValue);
  release_reference(u, count);
  return GPUSIM_DONE(cudaSuccess);
}

cudaError_t CUDARTAPI cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t handle,
                                                unsigned int count, unsigned int flags) {
  GPUSIM_RUNTIME_API(cudaGraphRetainUserObject, graph, handle, count, flags);
  return GPUSIM_DONE(retain(graph, handle, count, flags));
}

cudaError_t CUDARTAPI cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t handle,
                                                 unsigned int count) {
  GPUSIM_RUNTIME_API(cudaGraphReleaseUserObject, graph, handle, count);
  return GPUSIM_DONE(release_held(graph, handle, count));
}

}  // extern "C"
