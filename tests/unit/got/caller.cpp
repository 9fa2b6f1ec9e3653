// SPDX-License-Identifier: Apache-2.0
//
// A library that calls another one's function, directly and through a pointer it took, and one that
// nobody defines.
//
// Context:  tests
#define EXPORT extern "C" __attribute__((visibility("default"), noinline))

extern "C" int got_test_answer(int n);
extern "C" __attribute__((weak)) int got_test_nobody(int n);

EXPORT int got_test_call(int n) { return got_test_answer(n) * 100; }
EXPORT bool got_test_has_nobody() { return got_test_nobody != nullptr; }
EXPORT int (*got_test_take())(int) { return &got_test_answer; }
