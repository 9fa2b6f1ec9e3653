// SPDX-License-Identifier: Apache-2.0
//
// The return addresses of a stopped thread, from the unwind tables of the files it runs.
//
// Context:  daemon | cli
// Owns:     libdw's view of one process's mappings, the files it has opened
// Promises: reads only; a stack that cannot be followed to its end is said to be so
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/attach/arch/arch.hpp"
#include "daemon/attach/process/maps.hpp"
#include "daemon/attach/process/process_memory.hpp"

namespace gpuprof::attach {

struct Stack {
  std::vector<std::uint64_t> addresses;  // innermost first; return addresses but for the first
  bool complete = false;                 // the last one is the thread's first function
};

class Unwinder {
 public:
  Unwinder(pid_t pid, const Maps& maps, std::shared_ptr<ProcessMemory> memory);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  /// Opens the object that holds an address, so that a walk through it takes microseconds.
  void prepare(std::uint64_t address);

  Stack walk(pid_t tid, const arch::Registers& registers);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuprof::attach
