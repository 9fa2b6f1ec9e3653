// SPDX-License-Identifier: Apache-2.0
//
// New threads of some programs get an alternate signal stack before they run, those of a process
// that may wake are watched.
//
// Context:  boundary
// Promises: without such a program (inject/sample/alt_stacks.hpp) the call goes on as it is; the
//           thread's own routine is called with its own argument and its result is returned
#include <errno.h>
#include <pthread.h>

#include <atomic>

#include "inject/entry/next_function.hpp"
#include "inject/sample/alt_stacks.hpp"
#include "inject/wake/watch.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
constinit std::atomic<Create> g_create{nullptr};

Create real_create() { return gpuprof::entry::next_function(g_create, "pthread_create"); }

// The last call is a jump: no frame of ours stays below the program's.
void* begin_on_alt_stack(void* reserved) {
  const gpuprof::sample::ThreadStart start = gpuprof::sample::take_alt_stack(reserved);
  return start.routine(start.argument);
}

void* begin_watched(void* reserved) {
  const gpuprof::wake::ThreadStart start = gpuprof::wake::take_start(reserved);
  return start.routine(start.argument);
}

int create_watched(Create real, pthread_t* thread, const pthread_attr_t* attributes,
                   void* (*routine)(void*), void* argument) {
  namespace wake = gpuprof::wake;
  wake::heed_new_thread();
  void* reserved = wake::watching() ? wake::reserve_start({routine, argument}) : nullptr;
  if (reserved == nullptr) return real(thread, attributes, routine, argument);
  const int result = real(thread, attributes, begin_watched, reserved);
  if (result != 0) wake::drop_start(reserved);
  return result;
}

// Others may be in dlopen, and wait for a thread, when the first one is made.
__attribute__((constructor)) void find_early() { real_create(); }

}  // namespace

GPUPROF_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                  void* (*routine)(void*), void* argument) noexcept {
  using namespace gpuprof::sample;
  const Create real = real_create();
  if (real == nullptr) return EAGAIN;
  if (gpuprof::wake::watching()) return create_watched(real, thread, attributes, routine, argument);
  if (!alt_stacks_required()) return real(thread, attributes, routine, argument);
  give_alt_stack();
  void* reserved = reserve_alt_stack(ThreadStart{routine, argument});
  if (reserved == nullptr) return real(thread, attributes, routine, argument);
  const int result = real(thread, attributes, begin_on_alt_stack, reserved);
  if (result != 0) drop_alt_stack(reserved);
  return result;
}
