// SPDX-License-Identifier: Apache-2.0
//
// A session as the process sees it: hello, settings, turns until it is over.
//
// Context:  worker
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "inject/agent/core.hpp"
#include "inject/agent/segment_map.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/hot/clock/overhead_meter.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/segment_lifetime.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/hot/worker/worker_wakeup.hpp"
#include "inject/messages/agent.hpp"
#include "inject/nvtx/nvtx.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/torch/torch.hpp"

namespace gpuprof::agent {

namespace {

// A daemon may get no processor for seconds, and nothing waits for us meanwhile.
constexpr std::uint64_t kConfigDeadlineNs = 60'000'000'000;
// What a Python that ends at once lives.
constexpr std::uint64_t kShortLifeNs = 20'000'000;
// Only to notice that the daemon is gone: everything else wakes us.
constexpr std::uint32_t kArmedTurnMs = 5000;
// Somebody may be at the control socket.
constexpr std::uint32_t kMaxTurnMs = 100;
// The daemon has not taken what we told it.
constexpr std::uint32_t kSendQueueTurnMs = 10;

bool accept_config(const wire::Packet& packet, int segment_fd) {
  wire::Config config;
  if (!packet.as(&config)) return false;
  if (g_agent.components_configured) return true;  // we are back; everything is as it was
  if (segment_fd < 0) return false;
  if (packet.tail_bytes != config.step_text_bytes || packet.tail_bytes >= sizeof g_agent.step_text)
    return false;
  if (!memory_limits_allow(config.segment_bytes)) return false;
  hot::g_state.measures_overhead.store(config.measure_overhead != 0, std::memory_order_relaxed);
  if (config.measure_overhead != 0) hot::calibrate_clock_cost();
  if (!publish_segment(segment_fd, config.segment_bytes)) return false;
  memcpy(g_agent.step_text, packet.tail, packet.tail_bytes);
  g_agent.step_text[packet.tail_bytes] = '\0';
  g_agent.config = config;
  decide_cpu_memory();
  return true;
}

bool wait_for_config() {
  const std::uint64_t deadline = base::mono_ns() + kConfigDeadlineNs;
  while (base::mono_ns() < deadline && !hot::worker_park_wanted() &&
         !g_agent.shut_down.load(std::memory_order_acquire)) {
    wire::Packet packet;
    base::UniqueFd segment;
    const ReceiveResult got = g_agent.connection.receive(&packet, &segment);
    if (got == ReceiveResult::kPacket) return accept_config(packet, segment.get());
    if (got != ReceiveResult::kNothing) return false;
    g_agent.connection.wait(50);
    hot::worker_pause_point();
  }
  return false;
}

// Connect, introduce ourselves, get settings.
bool connect() {
  g_agent.connection.close();
  return g_agent.connection.open(g_agent.address) && send_hello() && wait_for_config();
}

// Sleeps until someone has news (wire::wake_agent) or for `timeout_ms`. News that came since the
// turn began end it at once.
void sleep(std::uint32_t timeout_ms) {
  const timespec wait{timeout_ms / 1000, static_cast<long>(timeout_ms % 1000) * 1'000'000};
  ::syscall(SYS_futex, &hot::g_state.plan->wake, FUTEX_WAIT, g_agent.wakeup_at_turn, &wait, nullptr,
            0);
}

// A Python that ends within milliseconds costs no more than a handshake: what the components
// prepare would cost it as much again. Nothing of it is sampled before that.
void wait_startup_grace() {
  const std::uint64_t begun_ns = base::mono_ns();
  for (;;) {
    g_agent.wakeup_at_turn = hot::g_state.plan->wake.load(std::memory_order_acquire);
    const std::uint32_t left_ms = startup_grace_left_ms(begun_ns);
    if (left_ms == 0) return;
    sleep(left_ms);
  }
}

}  // namespace

std::uint32_t startup_grace_left_ms(std::uint64_t begun_ns) {
  hot::worker_pause_point();
  const std::uint64_t lived_ns = base::mono_ns() - begun_ns;
  const std::uint32_t woke = g_agent.wake_reasons.load(std::memory_order_acquire);
  const bool may_end_soon = woke == wire::kWakePython || woke == wire::kWakeCpuTime;
  if (!may_end_soon || hot::worker_park_wanted() || lived_ns >= kShortLifeNs) return 0;
  return static_cast<std::uint32_t>((kShortLifeNs - lived_ns) / 1'000'000) + 1;
}

namespace {

// A program is not held up for longer than it would notice.
void report_missed_cuda_calls() {
  const std::uint64_t from_ns =
      g_agent.cuda_started_early_ns.exchange(0, std::memory_order_acq_rel);
  if (from_ns == 0 || g_agent.state != wire::AgentState::kRecording) return;
  char text[120];
  snprintf(text, sizeof text, messages::agent::kCudaStartedEarly,
           static_cast<double>(base::mono_ns() - from_ns) / 1e6);
  hot::send_notice(wire::Feature::kCuda, wire::NoticeLevel::kMissing, 0, text);
}

void set_up_components() {
  install_outbox();
  hot::report_leaked_segments();
  send_environment_facts();
  g_agent.state = wire::AgentState::kArmed;
  g_agent.applied_sequence = 0;
  g_agent.throttle = 0;
  g_agent.components_configured = true;
  configure_components();
  apply_plan();
  report_missed_cuda_calls();
  set_phase(Phase::kReady);
}

NextAction handle_message(const wire::Packet& packet) {
  wire::Flush flush;
  if (packet.as(&flush)) {
    cupti::flush(flush.forced != 0, 1000);
    send_message(wire::FlushDone{flush.token, base::mono_ns()});
  }
  const bool stop =
      packet.type == wire::MessageType::kStop || packet.type == wire::MessageType::kRefused;
  return stop ? NextAction::kWaitArmed : NextAction::kContinue;
}

NextAction read_messages() {
  for (;;) {
    wire::Packet packet;
    base::UniqueFd fd;
    switch (g_agent.connection.receive(&packet, &fd)) {
      case ReceiveResult::kNothing:
        return NextAction::kContinue;
      case ReceiveResult::kPeerGone:
        return NextAction::kWaitArmed;
      case ReceiveResult::kDescriptorLost:
        return NextAction::kConnect;
      case ReceiveResult::kPacket:
        if (const NextAction next = handle_message(packet); next != NextAction::kContinue)
          return next;
    }
  }
}

// The driver was loaded although CUDA_INJECTION64_PATH leads elsewhere.
void find_late_driver() {
  if (g_agent.injection_is_ours || cupti::is_driver_initialised() || !cupti::driver_mapped())
    return;
  cupti::on_driver_found();
  g_agent.wake_reasons.fetch_or(wire::kWakeCuda, std::memory_order_acq_rel);
  apply_cuda_state(g_agent.state);
}

std::atomic<std::uint64_t>& cpu_counter() {
  return hot::g_state.stats->counters[static_cast<std::uint32_t>(wire::Counter::kWorkerCpuNs)];
}

std::uint32_t run_once() {
  const std::uint64_t now = base::mono_ns();
  g_agent.send_queue.flush(g_agent.connection);
  if (g_agent.wake_reasons.load(std::memory_order_acquire) != g_agent.reported_wake_reasons)
    send_hello();
  apply_plan();
  hot::worker_clear_resume_timer();
  wire::Stats* stats = hot::g_state.stats;
  stats->heartbeat_ns.store(now, std::memory_order_relaxed);
  cpu_counter().store(base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - g_agent.cpu_before_session_ns,
                      std::memory_order_relaxed);
  sync_credentials();
  nvtx::tick();
  // What is loaded between windows may need stacks for signals before it makes its threads.
  if (g_agent.state != wire::AgentState::kRecording) sample::refresh_modules();
  const std::uint32_t longest_ms = thread_exit_announced() ? kExitCheckMs : kMaxTurnMs;
  if (g_agent.state == wire::AgentState::kArmed)
    return longest_ms == kMaxTurnMs ? kArmedTurnMs : longest_ms;
  find_late_driver();
  std::uint32_t next_ms = std::min<std::uint32_t>(longest_ms, torch::tick(now));
  if (cupti::is_driver_initialised()) next_ms = std::min(next_ms, cupti::tick(now));
  sample::retire_ended_threads(now);
  if (g_agent.state == wire::AgentState::kRecording) next_ms = std::min(next_ms, sample::tick(now));
  return std::max<std::uint32_t>(next_ms, 1);
}

NextAction run_loop() {
  for (;;) {
    const std::uint32_t reduction = hot::wakeup_count();
    // acquire; pairs with the release in wake_agent
    g_agent.wakeup_at_turn = hot::g_state.plan->wake.load(std::memory_order_acquire);
    if (g_agent.shut_down.load(std::memory_order_acquire)) return NextAction::kDetach;
    if (hot::worker_park_wanted()) return NextAction::kPark;
    hot::worker_pause_point();
    if (!g_agent.private_fd_table && !g_agent.connection.intact()) return NextAction::kConnect;
    if (!g_agent.private_fd_table && g_agent.control_socket.lost()) {
      g_agent.control_socket.close();
      g_agent.control_socket.open(g_agent.address.nonce);
    }
    if (const NextAction next = read_messages(); next != NextAction::kContinue) return next;
    if (const NextAction next = serve_control_request(); next != NextAction::kContinue) return next;
    std::uint32_t timeout_ms = run_once();
    if (g_agent.send_queue.has_pending()) timeout_ms = std::min(timeout_ms, kSendQueueTurnMs);
    if (g_agent.shut_down.load(std::memory_order_acquire))
      continue;  // sync_credentials saw a filter
    // Between windows whoever comes to the control socket need not wait for a turn; the daemon's
    // plan comes with a message, too.
    if (g_agent.state == wire::AgentState::kArmed)
      wait_for_wakeup(reduction, static_cast<int>(timeout_ms), true);
    else
      sleep(timeout_ms);
  }
}

wire::ByeReason bye_of(NextAction next) {
  if (next == NextAction::kServeJoined) return wire::ByeReason::kTakenOver;
  if (next == NextAction::kDetach) return wire::ByeReason::kDetached;
  return next == NextAction::kConnect ? wire::ByeReason::kDisabled : wire::ByeReason::kStopped;
}

void end_session(wire::ByeReason reason) {
  disable_all();
  const bool left = g_agent.shut_down.load(std::memory_order_acquire);
  if (left) g_agent.connection.stop_waiting();
  g_agent.send_queue.drain(g_agent.connection, left ? 0 : kFinalSendMs);
  // Whoever is pushing a record finishes it; the daemon drains when it hears the good-bye.
  unpublish_segment();
  g_agent.connection.send(wire::Bye{static_cast<std::uint32_t>(reason), 0, base::mono_ns()},
                          nullptr, 0);
  g_agent.components_configured = false;
  g_agent.connection.close();
  release_components();
}

NextAction action_after_failure() {
  if (g_agent.shut_down.load(std::memory_order_acquire)) return NextAction::kDetach;
  if (hot::worker_park_wanted()) return NextAction::kPark;
  g_agent.connection.close();
  return g_agent.detach_after_session ? NextAction::kDetach : NextAction::kWaitArmed;
}

}  // namespace

NextAction begin_session(NextAction how) {
  const bool joined = how == NextAction::kServeJoined;
  // What earlier sessions took, and waiting at the control socket, is not this one's.
  g_agent.cpu_before_session_ns = joined ? base::clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
  if (joined) g_agent.connection.adopt_from(&g_agent.control_connection);
  g_agent.send_queue.clear();
  if (!(joined ? send_hello() && wait_for_config() : connect())) return action_after_failure();
  if (!joined) wait_startup_grace();
  hook_signal_calls();
  g_agent.control_socket.open(g_agent.address.nonce);
  set_up_components();
  return NextAction::kContinue;
}

// The kernel thread is another one, and with its own table went every descriptor.
NextAction rejoin_session() {
  if (!g_agent.private_fd_table) return NextAction::kContinue;
  g_agent.connection.forget_descriptor();
  if (!connect()) {
    if (!g_agent.shut_down.load(std::memory_order_acquire) && hot::worker_park_wanted())
      return NextAction::kPark;
    end_session(wire::ByeReason::kDisabled);
    return action_after_failure();
  }
  g_agent.control_socket.open(g_agent.address.nonce);
  hot::g_state.stats->parked.store(0, std::memory_order_release);
  g_agent.cpu_before_session_ns =
      base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_counter().load(std::memory_order_relaxed);
  if (g_agent.state == wire::AgentState::kRecording) restart_sampling();
  return NextAction::kContinue;
}

NextAction run_session() {
  const NextAction next = run_loop();
  if (next == NextAction::kPark) {
    // The connection ends with us; the process does not.
    hot::g_state.stats->parked.store(1, std::memory_order_release);
    return next;
  }
  if (g_agent.shut_down.load(std::memory_order_acquire))
    hot::send_notice(wire::Feature::kGeneral, wire::NoticeLevel::kMissing, 0,
                     messages::agent::kSystemCallsRestricted);
  end_session(bye_of(next));
  return next == NextAction::kWaitArmed && g_agent.detach_after_session ? NextAction::kDetach
                                                                        : next;
}

}  // namespace gpuprof::agent
