// SPDX-License-Identifier: Apache-2.0
//
// Frames that are compared with what is read anew.
//
// Context:  tests
#pragma once

#include "inject/python/frames/fast_frames.hpp"

namespace gpuprof::tests {

/// Whether both are at one place of one frame.
inline bool same_frame(const python::FastFrame& a, const python::FastFrame& b) {
  return a.frame == b.frame && a.code == b.code && a.instr_offset == b.instr_offset &&
         a.flags == b.flags;
}

}  // namespace gpuprof::tests
