// SPDX-License-Identifier: Apache-2.0
//
// A library that asks the test program when its constructor may end.
extern "C" void modules_test_wait();

namespace {
bool g_loaded = false;
__attribute__((constructor)) void begin() {
  modules_test_wait();
  g_loaded = true;
}
}  // namespace

extern "C" int modules_test_is_loaded() { return g_loaded ? 1 : 0; }
