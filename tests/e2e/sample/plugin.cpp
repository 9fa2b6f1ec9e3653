// SPDX-License-Identifier: Apache-2.0
//
// A library to be loaded and closed all the time; each build has other code at other places.
//
// Context:  tests

#ifndef PLUGIN
#define PLUGIN 0
#endif

namespace {
template <int kDepth>
__attribute__((noinline)) long deeper(long x) {
  volatile long kept[8 + PLUGIN];
  kept[kDepth % 8] = deeper<kDepth - 1>(x + kDepth * PLUGIN);
  return kept[kDepth % 8] + 1;
}
template <>
__attribute__((noinline)) long deeper<0>(long x) {
  for (int i = 0; i < 2000 + PLUGIN * 100; ++i) x = x * 31 + i;
  return x;
}
}  // namespace

extern "C" __attribute__((visibility("default"))) long plugin_work(long x) {
  return deeper<12 + PLUGIN>(x) + PLUGIN;
}
