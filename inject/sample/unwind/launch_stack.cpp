// SPDX-License-Identifier: Apache-2.0
//
// The stack of an API call, from inside its callback.
//
// Context:  callback
// Owns:     nothing
#include "inject/sample/unwind/launch_stack.hpp"

#include "inject/sample/faults/fault_guard.hpp"
#include "inject/sample/sampler_parts.hpp"
#include "inject/sample/signals/kernel_signal.hpp"
#include "inject/sample/snapshot/phdr_snapshot.hpp"
#include "inject/sample/unwind/take_stack.hpp"

namespace gpuprof::sample {

std::uint64_t take_launch_stack(const hot::Guard& guard, std::uint64_t ts_ns) {
  SnapshotUse at_work;
  if (current_snapshot() == nullptr || !guard_in_force()) return 0;
  StackRequest request;
  own_registers(&request.start);
  request.flags = wire::kStackInCall;
  request.parts = g_parts;
  // A library's own thread may have every signal blocked; a fault would then end the program.
  const OpenFaults open(blocked_signals());
  return take_stack(guard, request, ts_ns);
}

}  // namespace gpuprof::sample
