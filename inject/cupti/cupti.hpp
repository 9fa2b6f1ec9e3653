// SPDX-License-Identifier: Apache-2.0
//
// The interface of the CUPTI component: open, switch, flush, release.
//
// Context:  worker, or boundary (InitializeInjection) where stated
// Owns:     the subscriber slot and the buffer pool, while open
// Promises: every failure is a notice and a state, never an error for the program
// Not here: what the callbacks do (api_callback.cpp, buffer_callbacks.cpp)
#pragma once

#include <cstdint>

#include "gpuprof/wire/messages.hpp"

namespace gpuprof::cupti {

struct Settings {
  std::uint32_t flush_period_ms = 25;
  std::uint32_t buffer_bytes = 1u << 20;
  std::uint32_t buffer_count = 12;
  bool graph_nodes = true;
  bool calls = true;          // records of launches and API calls
  bool attached = false;      // nothing of ours stands between the program and CUPTI
  bool kernel_steps = false;  // steps are looked for among launches while recording, too
};

enum class Mode {
  kOff,
  kGraphSteps,   // callbacks of captures and of launches of graphs, for steps (hot::GraphCallState)
  kKernelSteps,  // … of launches of kernels
  kRecording,
};

/// The driver has called InitializeInjection in this process. Boundary, on that thread; no CUPTI
/// call.
void on_driver_initialised();
bool is_driver_initialised();

/// The same, found by the worker: the driver was there before us, or its injection leads elsewhere.
void on_driver_found();

/// The worker is about to leave the program's table of descriptors, which CUDA and CUPTI need.
void before_fd_unshare();
/// The worker ends for good: nothing of ours runs in this process any more.
void on_worker_exit();

/// Whether libcuda.so.1 is mapped (for the fallback poller). Worker.
bool driver_mapped();

/// Opens CUPTI if needed and switches to what is wanted. Worker or boundary (serialised by the
/// component's own lock, which no callback takes). Notices go to the outbox through tick(). Waits 2
/// s for a thread that is inside and as long for the helper, where these get no processor; after
/// that the switch is left pending (is_mode_pending()), and the time that is not recorded is
/// counted (kCuptiEnableDelayNs).
void set_mode(Mode wanted, const Settings& settings);

/// Whether a set_mode() since the last call did not finish in time: the mode has to be set again.
/// Worker, each turn; set_mode() makes the next one come soon.
bool is_mode_pending();

/// Kernel records could not be switched off safely and continue unread: the agent reports
/// AgentState::kCountingActivityEnabled instead of kCounting.
bool is_activity_left_enabled();

/// kernel:REGEX of the step source, POSIX extended; empty: none. False: not a valid expression.
bool set_step_expression(const char* expression);

/// Periodic work: flush, clock sync records, drop counters, new kernel names against the
/// expression, retry of a taken slot, notices that callbacks left. Returns ms until wanted again.
std::uint32_t tick(std::uint64_t now_ns);

/// Delivers what is complete (forced: everything); bounded by `deadline_ms`. Worker.
/// @return False: it did not (counted as kFlushTimeouts), or CUPTI is not ours to flush.
bool flush(bool forced, std::uint32_t deadline_ms);

/// Releases CUPTI, after set_mode(kOff): no kind, callback, subscriber, replaced slot or buffer of
/// ours is left; the thread ends unless it is kept (on_worker_exit). The next set_mode() begins
/// anew. Worker.
/// @return False: something of ours had to stay: a flush that hangs, buffers CUPTI did not return
///         in time, or kernel records that this CUPTI cannot switch off (hazards.hpp).
bool release(std::uint32_t deadline_ms);

/// Process exit (registered from InitializeInjection, and from the _exit family). Boundary.
void before_exit();

/// abort() was called and nothing handles it: our helper, which runs while records are expected,
/// delivers what CUPTI holds. Boundary, on that thread.
void before_abort(std::uint32_t deadline_ms);

/// @param starved_ms  Time to wait beyond a fifth of a second, while the helper gets no processor.
void before_fork(std::uint32_t starved_ms);
/// Once the worker is paused: it may just have begun to keep the helper.
void on_worker_paused_before_fork(std::uint32_t starved_ms);
/// On a thread of the program, if the worker continues as it is.
void after_fork_parent();
void after_fork_child();

}  // namespace gpuprof::cupti
