// SPDX-License-Identifier: Apache-2.0
//
// Runs something with so many frames of its caller's on the stack.
//
// Context:  tests
// Owns:     nothing
#pragma once

namespace gpuprof::fakes {

inline volatile int g_depth_sink;

template <typename Body>
__attribute__((noinline)) void at_depth(int depth, Body& body) {
  if (depth > 0)
    at_depth(depth - 1, body);
  else
    body();
  g_depth_sink = g_depth_sink + 1;
}

}  // namespace gpuprof::fakes
