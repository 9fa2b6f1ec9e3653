// SPDX-License-Identifier: Apache-2.0
//
// One mixed stack: native walk and Python frames, hashed, its definition sent before first use.
//
// Context:  signal | callback (of the calling thread), worker (of a blocked one)
// Owns:     nothing: frames are built in the producer's scratch space
// Promises: a fault in either part costs that part (counted), never the program
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "inject/hot/recorder.hpp"
#include "inject/python/frames/frames.hpp"
#include "inject/sample/unwind/unwind.hpp"

namespace gpuprof::sample {

/// What is wanted of a stack, set by start(); launch stacks use it too.
struct StackParts {
  bool native = true;
  bool python = true;
};

/// Reads the Python frames of the thread the request is about.
using ReadPython = python::ReadResult (*)(const hot::Guard& guard, pid_t tid, wire::PyFrame* frames,
                                          std::uint32_t room, std::uint64_t ts_ns);

/// What a stack was taken by, so that it can be recognised (launch_stack_cache.hpp).
struct CapturedStack {
  StackFootprint footprint;
  std::uint32_t python_count = 0;
  bool python_whole = false;
};

struct StackRequest {
  Registers start;
  bool interrupted = false;          // by a signal
  StackCopy copy;                    // of a blocked thread
  pid_t blocked_tid = 0;             // 0: the calling thread
  ReadPython read_python = nullptr;  // null: python::read_current_frames
  std::uint32_t flags = 0;           // wire::kStack… to add
  StackParts parts;
  CapturedStack* taken = nullptr;  // filled in; null: not requested
};

/// Needs a SnapshotReader and open fault signals. @return the id, 0 if there is no frame at all.
std::uint64_t capture_stack(const hot::Guard& guard, const StackRequest& request,
                            std::uint64_t ts_ns);

}  // namespace gpuprof::sample
