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

std::uint64_t capture_launch_stack(const hot::Guard& guard, std::uint64_t what,
                                   std::uint64_t ts_ns) {
  SnapshotReader at_work;
  if (g_handler.suspended.load(std::memory_order_seq_cst)) {
    hot::count(wire::Counter::kSamplesDuringFork);
    return 0;
  }
  if (current_snapshot() == nullptr || !is_guard_active()) return 0;
  StackRequest request;
  current_registers(&request.start);
  request.flags = wire::kStackInCallback;
  request.parts = g_stack_parts;
  const LaunchSite place{request.start, what, request.parts};
  LaunchStackCache* const cache = launch_stack_cache_of(guard);
  if (cache != nullptr) {
    hot::RingProducer& producer = guard.producer();
    const std::uint64_t known = find_cached_stack(*cache, place);
    if (known != 0 && producer.stacks.contains(known, producer.ring.epoch())) return known;
    request.taken = &capture_buffer(*cache);
  }
  // A library's own thread may have every signal blocked; a fault would then end the program.
  const UnblockFaultSignals open(blocked_signals());
  const std::uint64_t id = capture_stack(guard, request, ts_ns);
  if (cache != nullptr) cache_stack(*cache, place, id, guard.tid());
  return id;
}

}  // namespace gpuprof::sample
