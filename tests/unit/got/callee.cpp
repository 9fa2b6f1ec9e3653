// SPDX-License-Identifier: Apache-2.0
//
// A library whose function others call, and which calls it itself.
//
// Context:  tests
#define EXPORT extern "C" __attribute__((visibility("default"), noinline))

EXPORT int got_test_answer(int n) { return n + 1; }
EXPORT int got_test_inner(int n) {
  const int answer = got_test_answer(n);
  return answer;
}
