// SPDX-License-Identifier: Apache-2.0
//
// The entry points of LD_PRELOAD and of remote dlopen: constructor and destructor.
//
// Context:  boundary
// Promises: the constructor of a process that has no reason to wake costs microseconds, opens
//           nothing and starts nothing
#include "inject/agent/agent.hpp"
#include "inject/got/own_bindings.hpp"

// Defined by every interpreter since 3.7; the dynamic linker answers at load, for nothing.
extern "C" __attribute__((weak, visibility("default"))) char _PyRuntime[];
// Since 3.11.
extern "C" __attribute__((weak, visibility("default"))) const unsigned long Py_Version;

// Of the sanitizers; their checks at the end stop all threads but those they do not know.
extern "C" __attribute__((weak, visibility("default"))) void __lsan_do_leak_check();
extern "C" __attribute__((weak, visibility("default"))) void __tsan_init();
extern "C" __attribute__((weak, visibility("default"))) void __msan_init();

namespace {

bool sanitized() {
  return __lsan_do_leak_check != nullptr || __tsan_init != nullptr || __msan_init != nullptr;
}

// Before all others. What a sanitizer has in the program stands before the C library for us, too.
__attribute__((constructor(101))) void on_first_constructor() {
  if (!sanitized()) gpuprof::got::bind_own_calls_to_libc();
}

__attribute__((constructor)) void on_load() {
  gpuprof::agent::load(_PyRuntime != nullptr, &Py_Version != nullptr ? Py_Version : 0, sanitized());
}

__attribute__((destructor)) void on_unload() { gpuprof::agent::before_exit(); }

}  // namespace
