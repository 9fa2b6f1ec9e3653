// SPDX-License-Identifier: Apache-2.0
//
// The data of our instructions in the process (stub_*.S), written by us before they start.
//
// Context:  daemon | cli
// Owns:     nothing
// Not here: the instructions (stub_x86_64.S), which name the same offsets
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::attach {

enum StubState : std::uint64_t { kRunning = 0, kEnded = 2 };

/// Addresses are the process's.
struct StubData {
  std::uint64_t state = kRunning;
  std::uint64_t proceed = 0;       // set by us once the file is written; without it: back at once
  std::int64_t file = -1;          // memfd_create's answer
  std::uint64_t make_file = 0;     // whether to make one
  std::uint64_t file_name = 0;     // for memfd_create
  std::uint64_t path = 0;          // for dlopen
  std::uint64_t open_library = 0;  // dlopen; 0: it is loaded
  std::uint64_t last_error = 0;    // dlerror
  std::uint64_t error_number = 0;  // __errno_location
  std::uint64_t entry = 0;         // gpuprof_attach; the load address is added if we load
  std::uint64_t argument = 0;
  std::uint64_t handle = 0;      // dlopen's answer
  std::uint64_t error_text = 0;  // dlerror's answer
  std::int64_t result = 0;       // gpuprof_attach's
  std::uint64_t scratch = 0, scratch_bytes = 0;
  std::uint64_t frame = 0;  // arch::Frame::address
  std::uint64_t call = 0;   // arch::Gadgets::call
  // How long it waits for us before it goes back alone.
  std::int64_t wait_s = 0, wait_part = 0;  // as select (x86-64) or pselect6 takes it
  std::uint64_t entered = 0;               // gpuprof_attach was called
  std::uint64_t restore = 0;  // arch::Gadgets::restore, for processors that return by register
};

static_assert(offsetof(StubData, file) == 16 && offsetof(StubData, entry) == 72 &&
              offsetof(StubData, result) == 104 && offsetof(StubData, call) == 136 &&
              offsetof(StubData, wait_s) == 144 && offsetof(StubData, entered) == 160 &&
              offsetof(StubData, restore) == 168);

}  // namespace gpuprof::attach
