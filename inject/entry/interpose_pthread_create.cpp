// SPDX-License-Identifier: Apache-2.0
//
// New threads of some programs get an alternate signal stack before they run, those of a process
// that may wake are watched.
//
// Context:  boundary
// Promises: without such a program (inject/sample/signals/alt_stacks.hpp) the call goes on as it
//           is; the thread's own routine is called with its own argument and its result is returned
#include <errno.h>
#include <pthread.h>

#include <atomic>

#include "inject/activation/cpu_watch.hpp"
#include "inject/entry/next_symbol.hpp"
#include "inject/sample/signals/alt_stacks.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
constinit std::atomic<Create> g_create{nullptr};

Create real_create() { return gpuprof::entry::next_symbol(g_create, "pthread_create"); }

using gpuprof::sample::ThreadStart;

// The last call is a jump: no frame of ours stays below the program's.
void* begin_on_alt_stack(void* reserved) {
  const ThreadStart start = gpuprof::sample::activate_alt_stack(reserved);
  return start.routine(start.argument);
}

void* start_watched_thread(void* reserved) {
  const ThreadStart start = gpuprof::wake::begin_thread_start(reserved);
  return start.routine(start.argument);
}

void* reserve_watch(const ThreadStart& start) {
  namespace wake = gpuprof::wake;
  if (!wake::watching()) return nullptr;
  wake::on_new_thread();
  return wake::watching() ? wake::reserve_thread_start(start) : nullptr;
}

void* reserve_stack(const ThreadStart& start) {
  namespace sample = gpuprof::sample;
  if (!sample::alt_stacks_enabled()) return nullptr;
  sample::ensure_alt_stack();
  return sample::reserve_alt_stack(start);
}

// Others may be in dlopen, and wait for a thread, when the first one is made.
__attribute__((constructor)) void resolve_symbols() { real_create(); }

}  // namespace

GPUPROF_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                  void* (*routine)(void*), void* argument) noexcept {
  const Create real = real_create();
  if (real == nullptr) return EAGAIN;
  ThreadStart start{routine, argument};
  void* watch = reserve_watch(start);
  if (watch != nullptr) start = {start_watched_thread, watch};
  // Before it is watched: a signal may come at once then.
  void* stack = reserve_stack(start);
  if (stack != nullptr) start = {begin_on_alt_stack, stack};
  const int result = real(thread, attributes, start.routine, start.argument);
  if (result == 0) return 0;
  if (stack != nullptr) gpuprof::sample::cancel_alt_stack(stack);
  if (watch != nullptr) gpuprof::wake::cancel_thread_start(watch);
  return result;
}
