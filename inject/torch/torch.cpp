// SPDX-License-Identifier: Apache-2.0
//
// Finds copies of libtorch, tries each out, and registers callbacks while something is wanted.
//
// Context:  worker (after_fork_child: boundary)
#include "inject/torch/torch.hpp"

#include <stdio.h>
#include <stdlib.h>

#include <atomic>

#include "inject/hot/clock/tsc_clock.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/segment_lifetime.hpp"
#include "inject/messages/torch.hpp"
#include "inject/python/frames/fast_frames.hpp"
#include "inject/python/frames/frames.hpp"
#include "inject/torch/calibrate.hpp"
#include "inject/torch/find_libtorch.hpp"
#include "inject/torch/library.hpp"
#include "inject/torch/loops/loop_steps.hpp"
#include "inject/torch/memory/allocations.hpp"
#include "inject/torch/memory/late_memory.hpp"
#include "inject/torch/operators/input_layout.hpp"
#include "inject/torch/operators/observer.hpp"
#include "inject/torch/operators/thread_state.hpp"

namespace gpuprof::torch {

namespace {

constexpr std::uint32_t kLookMs = 50;

struct Observation {
  ObserveMode wanted = ObserveMode::kOff;
  std::uint32_t detail = 0;
  std::uint32_t libraries = 0;          // calibrated
  std::uint32_t reported = 0;           // to the daemon of this session
  const char* why[kMaxLibraries] = {};  // null: laid out as known
  bool exit_hook = false;
  bool reported_no_stacks = false;
  bool reported_late_memory = false;
};
constinit Observation g_observation;
constinit std::atomic<bool> g_observed{false};

void report_missing(const Library& library, const char* why) {
  char text[320];
  snprintf(text, sizeof text, messages::torch::kUnknownLayout, library.version, why);
  hot::send_notice(wire::Feature::kTorch, wire::NoticeLevel::kMissing, 0, text);
}

void report_library(const Library& library, const char* why) {
  hot::send_fact("torch.version", library.version);
  hot::send_fact("torch.library", library.path);
  hot::send_fact("torch.layout", why == nullptr ? "known" : why);
  if (why != nullptr) report_missing(library, why);
}

bool stacks_wanted() {
  return g_observation.wanted == ObserveMode::kSteps ||
         (g_observation.detail & (wire::kTorchStack | wire::kTorchModules)) != 0;
}

void report_missing_stacks() {
  if (g_observation.reported_no_stacks || !python::fast_frames_disabled()) return;
  g_observation.reported_no_stacks = true;
  hot::send_notice(wire::Feature::kTorch, wire::NoticeLevel::kMissing, 0,
                   messages::torch::kNoPythonStacks);
}

// The program ends: what is refused from then on was recorded.
constinit std::atomic<bool> g_process_exiting{false};

bool memory_wanted() {
  return g_observation.wanted == ObserveMode::kOperators &&
         (g_observation.detail & wire::kTorchMemory) != 0;
}

void update_late_memory() {
  if (!memory_wanted() || g_observation.libraries == 0) return;
  hook_memory_reports();
  if (g_observation.reported_late_memory || !cpu_memory_refused()) return;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (g_process_exiting.load(std::memory_order_relaxed)) return;
  g_observation.reported_late_memory = true;
  report_late_memory();
}

void unregister(Library& library) {
  if (library.handle == 0) return;
  library.call.remove(library.handle);
  library.handle = 0;
}

bool inputs_wanted(const Library& library) {
  return g_observation.wanted == ObserveMode::kOperators &&
         (g_observation.detail & wire::kTorchShapes) != 0 && library.at.inputs != 0;
}

void update_registration(std::uint32_t copy) {
  Library& library = g_libraries[copy];
  if (g_observation.wanted == ObserveMode::kOff) return unregister(library);
  const bool inputs = inputs_wanted(library);
  if (library.handle != 0 && library.with_inputs.load(std::memory_order_relaxed) == inputs) return;
  unregister(library);
  library.with_inputs.store(inputs, std::memory_order_relaxed);
  library.handle = library.call.add_global(callbacks_of(copy));
}

// The program's other threads may go on allocating while tables of libtorch are destroyed, in which
// it looks because memory is asked for.
void stop_at_exit() {
  disable_callbacks_at_exit();
  g_process_exiting.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  decide_cpu_memory(false);
}

// libtorch's destructors run after what is registered now: they were registered when it was loaded.
void hook_exit() {
  if (g_observation.exit_hook) return;
  g_observation.exit_hook = atexit(stop_at_exit) == 0;
}

void adopt_library(std::uint32_t copy) {
  Library& library = g_libraries[copy];
  const char* why = calibrate(library);
  if (why == nullptr) {
    calibrate_lists(library);
    expect_offsets(library.input);
  }
  g_observation.why[copy] = why;
  hook_exit();
}

void report_all_libraries() {
  for (; g_observation.reported < g_observation.libraries; ++g_observation.reported)
    report_library(g_libraries[g_observation.reported], g_observation.why[g_observation.reported]);
}

void update_all_registrations() {
  for (std::uint32_t copy = 0; copy < g_observation.libraries; ++copy) update_registration(copy);
}

}  // namespace

void set_mode(ObserveMode wanted, std::uint32_t detail) {
  g_observation.wanted = wanted;
  g_observation.detail = detail;
  set_detail(detail);
  if (wanted != ObserveMode::kOff && !map_thread_states()) g_observation.wanted = ObserveMode::kOff;
  if (g_observation.wanted != ObserveMode::kOff) hot::check_clocksource();
  update_all_registrations();
}

std::uint32_t tick(std::uint64_t now_ns) {
  if (g_observation.wanted == ObserveMode::kOff) return ~0u;
  report_missing_stacks();
  update_late_memory();
  report_all_libraries();
  const bool changed = modules_changed();
  if (stacks_wanted() && !python::ready() && (changed || python::is_runtime_pending()))
    python::find_runtime();
  if (!changed) return kLookMs;
  const std::uint32_t found = find_libraries(now_ns);
  for (; g_observation.libraries < found; ++g_observation.libraries)
    adopt_library(g_observation.libraries);
  g_observed.store(g_observation.libraries != 0, std::memory_order_relaxed);
  update_all_registrations();
  return kLookMs;
}

bool observed() { return g_observed.load(std::memory_order_relaxed); }

bool release() {
  set_mode(ObserveMode::kOff, 0);
  unhook_memory_reports();
  g_observation.reported = 0;
  g_observation.reported_no_stacks = g_observation.reported_late_memory = false;
  if (!hot::no_thread_inside()) return false;
  unmap_thread_states();
  unmap_thread_loops();
  return true;
}

void after_fork_child() {
  drop_thread_states_after_fork();
  reset_loops_after_fork();
  // The child has the parent's registrations with it; they see that nothing is on.
}

}  // namespace gpuprof::torch
