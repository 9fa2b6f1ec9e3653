// SPDX-License-Identifier: Apache-2.0
//
// A library that no program can load: a function it needs exists nowhere.
#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" int gpuprof_test_function_that_nobody_has(void);
EXPORT int gpuprof_attach(const char*);
int gpuprof_attach(const char*) { return gpuprof_test_function_that_nobody_has(); }
