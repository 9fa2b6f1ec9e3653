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

struct Room {
  Wanted wanted = Wanted::kOff;
  std::uint32_t detail = 0;
  std::uint32_t libraries = 0;          // calibrated
  std::uint32_t told = 0;               // to the daemon of this session
  const char* why[kMaxLibraries] = {};  // null: laid out as known
  bool exit_hook = false;
  bool told_no_stacks = false;
  bool told_late_memory = false;
};
constinit Room g_room;
constinit std::atomic<bool> g_observed{false};

void say_what_is_missing(const Library& library, const char* why) {
  char text[320];
  snprintf(text, sizeof text,
           "PyTorch %s is laid out in a way that is not known (%s): its operators have names and "
           "times, but no sequence numbers, shapes or links from backward to forward.",
           library.version, why);
  hot::notice(wire::Feature::kTorch, wire::NoticeLevel::kMissing, 0, text);
}

void tell(const Library& library, const char* why) {
  hot::fact("torch.version", library.version);
  hot::fact("torch.library", library.path);
  hot::fact("torch.layout", why == nullptr ? "known" : why);
  if (why != nullptr) say_what_is_missing(library, why);
}

bool stacks_wanted() {
  return g_room.wanted == Wanted::kSteps ||
         (g_room.detail & (wire::kTorchStack | wire::kTorchModules)) != 0;
}

void say_that_stacks_are_missing() {
  if (g_room.told_no_stacks || !python::quick_frames_refused()) return;
  g_room.told_no_stacks = true;
  hot::notice(wire::Feature::kTorch, wire::NoticeLevel::kMissing, 0,
              "this Python keeps its frames in another way than its version does: PyTorch's "
              "operators have no Python stacks and no modules, and no loop is found as a step.");
}

// The program ends: what is refused from then on was recorded.
constinit std::atomic<bool> g_ends{false};

bool memory_wanted() {
  return g_room.wanted == Wanted::kOperators && (g_room.detail & wire::kTorchMemory) != 0;
}

void follow_late_memory() {
  if (!memory_wanted() || g_room.libraries == 0) return;
  follow_memory();
  if (g_room.told_late_memory || !cpu_memory_refused()) return;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (g_ends.load(std::memory_order_relaxed)) return;
  g_room.told_late_memory = true;
  say_late_memory();
}

void unregister(Library& library) {
  if (library.handle == 0) return;
  library.call.remove(library.handle);
  library.handle = 0;
}

bool inputs_wanted(const Library& library) {
  return g_room.wanted == Wanted::kOperators && (g_room.detail & wire::kTorchShapes) != 0 &&
         library.at.inputs != 0;
}

void follow(std::uint32_t copy) {
  Library& library = g_libraries[copy];
  if (g_room.wanted == Wanted::kOff) return unregister(library);
  const bool inputs = inputs_wanted(library);
  if (library.handle != 0 && library.with_inputs.load(std::memory_order_relaxed) == inputs) return;
  unregister(library);
  library.with_inputs.store(inputs, std::memory_order_relaxed);
  library.handle = library.call.add_global(callbacks_of(copy));
}

// The program's other threads may go on allocating while tables of libtorch are destroyed, in which
// it looks because memory is asked for.
void stop_at_exit() {
  stop_observing_at_exit();
  g_ends.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  settle_cpu_memory(false);
}

// libtorch's destructors run after what is registered now: they were registered when it was loaded.
void hook_exit() {
  if (g_room.exit_hook) return;
  g_room.exit_hook = atexit(stop_at_exit) == 0;
}

void take_in(std::uint32_t copy) {
  Library& library = g_libraries[copy];
  const char* why = calibrate(library);
  if (why == nullptr) {
    calibrate_lists(library);
    expect_places(library.input);
  }
  g_room.why[copy] = why;
  hook_exit();
}

void tell_all() {
  for (; g_room.told < g_room.libraries; ++g_room.told)
    tell(g_libraries[g_room.told], g_room.why[g_room.told]);
}

void follow_all() {
  for (std::uint32_t copy = 0; copy < g_room.libraries; ++copy) follow(copy);
}

}  // namespace

void want(Wanted wanted, std::uint32_t detail) {
  g_room.wanted = wanted;
  g_room.detail = detail;
  set_detail(detail);
  if (wanted != Wanted::kOff && !map_thread_states()) g_room.wanted = Wanted::kOff;
  if (g_room.wanted != Wanted::kOff) hot::look_for_ticks();
  follow_all();
}

std::uint32_t tick(std::uint64_t now_ns) {
  if (g_room.wanted == Wanted::kOff) return ~0u;
  say_that_stacks_are_missing();
  follow_late_memory();
  tell_all();
  const bool changed = modules_changed();
  if (stacks_wanted() && !python::ready() && (changed || python::waits_for_runtime()))
    python::find_runtime();
  if (!changed) return kLookMs;
  const std::uint32_t found = find_libraries(now_ns);
  for (; g_room.libraries < found; ++g_room.libraries) take_in(g_room.libraries);
  g_observed.store(g_room.libraries != 0, std::memory_order_relaxed);
  follow_all();
  return kLookMs;
}

bool observed() { return g_observed.load(std::memory_order_relaxed); }

bool release() {
  want(Wanted::kOff, 0);
  restore_memory();
  g_room.told = 0;
  g_room.told_no_stacks = g_room.told_late_memory = false;
  if (!hot::nobody_inside()) return false;
  unmap_thread_states();
  unmap_loops();
  return true;
}

void after_fork_child() {
  forget_thread_states_after_fork();
  forget_loops_after_fork();
  // The child has the parent's registrations with it; they see that nothing is on.
}

}  // namespace gpuprof::torch
