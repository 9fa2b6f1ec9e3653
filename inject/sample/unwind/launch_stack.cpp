// SPDX-License-Identifier: Apache-2.0
//
// The stack of an API call, from inside its callback.
//
// Context:  callback
// Owns:     nothing
#include "inject/sample/unwind/launch_stack.hpp"

#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/sampler_state.hpp"
#include "inject/sample/signals/handler_state.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"
#include "inject/sample/unwind/launch_stack_cache.hpp"
#include "inject/sample/unwind/stack_capture.hpp"

namespace gpuprof::sample {

std::uint64_t take_launch_stack(const hot::Guard& guard, std::uint64_t what, std::uint64_t ts_ns) {
  SnapshotUse at_work;
  if (g_handler.held.load(std::memory_order_seq_cst)) {
    hot::count(wire::Counter::kSamplesAtFork);
    return 0;
  }
  if (current_snapshot() == nullptr || !guard_in_force()) return 0;
  StackRequest request;
  own_registers(&request.start);
  request.flags = wire::kStackInCall;
  request.parts = g_parts;
  const LaunchPlace place{request.start, what, request.parts};
  LaunchMemo* const memo = launch_memo_of(guard);
  if (memo != nullptr) {
    hot::Outlet& outlet = guard.outlet();
    const std::uint64_t known = known_stack(*memo, place);
    if (known != 0 && outlet.stacks.sent(known, outlet.lane.epoch())) return known;
    request.taken = &room_for_taken(*memo);
  }
  // A library's own thread may have every signal blocked; a fault would then end the program.
  const OpenFaults open(blocked_signals());
  const std::uint64_t id = take_stack(guard, request, ts_ns);
  if (memo != nullptr) remember_stack(*memo, place, id, guard.tid());
  return id;
}

}  // namespace gpuprof::sample
