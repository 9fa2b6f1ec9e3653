// SPDX-License-Identifier: Apache-2.0
//
// A library that takes its time to load: a second and more.
#include <time.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

__attribute__((constructor)) void on_load() {
  const timespec while_{1, 200'000'000};
  nanosleep(&while_, nullptr);
}

}  // namespace

EXPORT int gpuprof_attach(const char*);
int gpuprof_attach(const char*) { return 42; }
