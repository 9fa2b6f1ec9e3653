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
// Somebody may be at the door.
constexpr std::uint32_t kLongestTurnMs = 100;
// The daemon has not taken what we told it.
constexpr std::uint32_t kMailTurnMs = 10;

bool accept_config(const wire::Packet& packet, int segment_fd) {
  wire::Config config;
  if (!packet.as(&config)) return false;
  if (g_core.set_up) return true;  // we are back; everything is as it was
  if (segment_fd < 0) return false;
  if (packet.tail_bytes != config.step_text_bytes || packet.tail_bytes >= sizeof g_core.step_text)
    return false;
  if (!address_space_has_room(config.segment_bytes)) return false;
  hot::g_state.measures_itself.store(config.measure_self != 0, std::memory_order_relaxed);
  if (config.measure_self != 0) hot::measure_clock();
  if (!publish_segment(segment_fd, config.segment_bytes)) return false;
  memcpy(g_core.step_text, packet.tail, packet.tail_bytes);
  g_core.step_text[packet.tail_bytes] = '\0';
  g_core.config = config;
  settle_memory();
  return true;
}

bool wait_for_config() {
  const std::uint64_t deadline = base::mono_ns() + kConfigDeadlineNs;
  while (base::mono_ns() < deadline && !hot::worker_park_wanted() &&
         !g_core.left.load(std::memory_order_acquire)) {
    wire::Packet packet;
    base::UniqueFd segment;
    const Received got = g_core.connection.receive(&packet, &segment);
    if (got == Received::kPacket) return accept_config(packet, segment.get());
    if (got != Received::kNothing) return false;
    g_core.connection.wait(50);
    hot::worker_pause_point();
  }
  return false;
}

// Connect, introduce ourselves, get settings.
bool connect() {
  g_core.connection.close();
  return g_core.connection.open(g_core.address) && say_hello() && wait_for_config();
}

// Sleeps until someone has news (wire::wake_agent) or for `timeout_ms`. News that came since the
// turn began end it at once.
void sleep(std::uint32_t timeout_ms) {
  const timespec wait{timeout_ms / 1000, static_cast<long>(timeout_ms % 1000) * 1'000'000};
  ::syscall(SYS_futex, &hot::g_state.plan->wake, FUTEX_WAIT, g_core.seen_wake, &wait, nullptr, 0);
}

// A Python that ends within milliseconds costs no more than a greeting: what the rooms prepare
// would cost it as much again. Nothing of it is sampled before that.
void wait_for_a_longer_life() {
  const std::uint64_t begun_ns = base::mono_ns();
  for (;;) {
    g_core.seen_wake = hot::g_state.plan->wake.load(std::memory_order_acquire);
    const std::uint32_t left_ms = short_life_left_ms(begun_ns);
    if (left_ms == 0) return;
    sleep(left_ms);
  }
}

}  // namespace

std::uint32_t short_life_left_ms(std::uint64_t begun_ns) {
  hot::worker_pause_point();
  const std::uint64_t lived_ns = base::mono_ns() - begun_ns;
  const std::uint32_t woke = g_core.woke.load(std::memory_order_acquire);
  const bool may_end_soon = woke == wire::kWokePython || woke == wire::kWokeWork;
  if (!may_end_soon || hot::worker_park_wanted() || lived_ns >= kShortLifeNs) return 0;
  return static_cast<std::uint32_t>((kShortLifeNs - lived_ns) / 1'000'000) + 1;
}

namespace {

// A program is not held up for longer than it would notice.
void tell_of_calls_before() {
  const std::uint64_t from_ns = g_core.went_ahead_ns.exchange(0, std::memory_order_acq_rel);
  if (from_ns == 0 || g_core.state != wire::AgentState::kRecording) return;
  char text[120];
  snprintf(text, sizeof text,
           "CUDA calls and GPU work of %.0f ms are missing: the program went on before recording "
           "had begun",
           static_cast<double>(base::mono_ns() - from_ns) / 1e6);
  hot::notice(wire::Feature::kCuda, wire::NoticeLevel::kMissing, 0, text);
}

void set_up_rooms() {
  open_outbox();
  hot::report_kept_segments();
  send_environment_facts();
  g_core.state = wire::AgentState::kArmed;
  g_core.applied_sequence = 0;
  g_core.less = 0;
  g_core.set_up = true;
  configure_rooms();
  apply_plan();
  tell_of_calls_before();
  set_phase(Phase::kReady);
}

Next answer(const wire::Packet& packet) {
  wire::Flush flush;
  if (packet.as(&flush)) {
    cupti::flush(flush.forced != 0, 1000);
    tell(wire::FlushDone{flush.token, base::mono_ns()});
  }
  const bool stop =
      packet.type == wire::MessageType::kStop || packet.type == wire::MessageType::kRefused;
  return stop ? Next::kArmed : Next::kGoOn;
}

Next read_messages() {
  for (;;) {
    wire::Packet packet;
    base::UniqueFd fd;
    switch (g_core.connection.receive(&packet, &fd)) {
      case Received::kNothing:
        return Next::kGoOn;
      case Received::kPeerGone:
        return Next::kArmed;
      case Received::kDescriptorLost:
        return Next::kConnect;
      case Received::kPacket:
        if (const Next next = answer(packet); next != Next::kGoOn) return next;
    }
  }
}

// The driver was loaded although CUDA_INJECTION64_PATH leads elsewhere.
void look_for_driver() {
  if (g_core.injection_is_ours || cupti::driver_was_seen() || !cupti::driver_mapped()) return;
  cupti::driver_found();
  g_core.woke.fetch_or(wire::kWokeCuda, std::memory_order_acq_rel);
  apply_cuda(g_core.state);
}

std::atomic<std::uint64_t>& cpu_counter() {
  return hot::g_state.stats->counters[static_cast<std::uint32_t>(wire::Counter::kWorkerCpuNs)];
}

std::uint32_t one_turn() {
  const std::uint64_t now = base::mono_ns();
  g_core.mail.push(g_core.connection);
  if (g_core.woke.load(std::memory_order_acquire) != g_core.told_woke) say_hello();
  apply_plan();
  hot::worker_resume_timer_done();
  wire::Stats* stats = hot::g_state.stats;
  stats->heartbeat_ns.store(now, std::memory_order_relaxed);
  cpu_counter().store(base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - g_core.cpu_base_ns,
                      std::memory_order_relaxed);
  follow_credentials();
  nvtx::tick();
  // What is loaded between windows may need stacks for signals before it makes its threads.
  if (g_core.state != wire::AgentState::kRecording) sample::refresh_modules();
  const std::uint32_t longest_ms = a_thread_ends() ? kEndLookMs : kLongestTurnMs;
  if (g_core.state == wire::AgentState::kArmed)
    return longest_ms == kLongestTurnMs ? kArmedTurnMs : longest_ms;
  look_for_driver();
  std::uint32_t next_ms = std::min<std::uint32_t>(longest_ms, torch::tick(now));
  if (cupti::driver_was_seen()) next_ms = std::min(next_ms, cupti::tick(now));
  sample::retire_ended_threads(now);
  if (g_core.state == wire::AgentState::kRecording) next_ms = std::min(next_ms, sample::tick(now));
  return std::max<std::uint32_t>(next_ms, 1);
}

Next turns() {
  for (;;) {
    const std::uint32_t rung = hot::bell_seen();
    // acquire; pairs with the release in wake_agent
    g_core.seen_wake = hot::g_state.plan->wake.load(std::memory_order_acquire);
    if (g_core.left.load(std::memory_order_acquire)) return Next::kDetached;
    if (hot::worker_park_wanted()) return Next::kPark;
    hot::worker_pause_point();
    if (!g_core.own_files && !g_core.connection.intact()) return Next::kConnect;
    if (!g_core.own_files && g_core.door.lost()) {
      g_core.door.close();
      g_core.door.open(g_core.address.nonce);
    }
    if (const Next next = read_messages(); next != Next::kGoOn) return next;
    if (const Next next = answer_door(); next != Next::kGoOn) return next;
    std::uint32_t timeout_ms = one_turn();
    if (g_core.mail.waits()) timeout_ms = std::min(timeout_ms, kMailTurnMs);
    if (g_core.left.load(std::memory_order_acquire)) continue;  // follow_credentials saw a filter
    // Between windows whoever comes to the door need not wait for a turn; the daemon's plan comes
    // with a message, too.
    if (g_core.state == wire::AgentState::kArmed)
      wait_for_ring(rung, static_cast<int>(timeout_ms), true);
    else
      sleep(timeout_ms);
  }
}

wire::ByeReason bye_of(Next next) {
  if (next == Next::kJoined) return wire::ByeReason::kHandedOver;
  if (next == Next::kDetached) return wire::ByeReason::kDetached;
  return next == Next::kConnect ? wire::ByeReason::kDisabled : wire::ByeReason::kStopped;
}

void let_go(wire::ByeReason reason) {
  all_off();
  const bool left = g_core.left.load(std::memory_order_acquire);
  if (left) g_core.connection.wait_no_more();
  g_core.mail.finish(g_core.connection, left ? 0 : kLastWordsMs);
  // Whoever is pushing a record finishes it; the daemon drains when it hears the good-bye.
  withdraw_segment();
  g_core.connection.send(wire::Bye{static_cast<std::uint32_t>(reason), 0, base::mono_ns()}, nullptr,
                         0);
  g_core.set_up = false;
  g_core.connection.close();
  release_rooms();
}

Next failed() {
  if (g_core.left.load(std::memory_order_acquire)) return Next::kDetached;
  if (hot::worker_park_wanted()) return Next::kPark;
  g_core.connection.close();
  return g_core.detach_after ? Next::kDetached : Next::kArmed;
}

}  // namespace

Next begin_session(Next how) {
  const bool joined = how == Next::kJoined;
  // What earlier sessions took, and waiting at the door, is not this one's.
  g_core.cpu_base_ns = joined ? base::clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
  if (joined) g_core.connection.take_from(&g_core.caller);
  g_core.mail.clear();
  if (!(joined ? say_hello() && wait_for_config() : connect())) return failed();
  if (!joined) wait_for_a_longer_life();
  follow_signal_calls();
  g_core.door.open(g_core.address.nonce);
  set_up_rooms();
  return Next::kGoOn;
}

// The kernel thread is another one, and with its own table went every descriptor.
Next come_back() {
  if (!g_core.own_files) return Next::kGoOn;
  g_core.connection.forget();
  if (!connect()) {
    if (!g_core.left.load(std::memory_order_acquire) && hot::worker_park_wanted())
      return Next::kPark;
    let_go(wire::ByeReason::kDisabled);
    return failed();
  }
  g_core.door.open(g_core.address.nonce);
  hot::g_state.stats->parked.store(0, std::memory_order_release);
  g_core.cpu_base_ns =
      base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_counter().load(std::memory_order_relaxed);
  if (g_core.state == wire::AgentState::kRecording) restart_sampling();
  return Next::kGoOn;
}

Next live_in_session() {
  const Next next = turns();
  if (next == Next::kPark) {
    // The connection ends with us; the process does not.
    hot::g_state.stats->parked.store(1, std::memory_order_release);
    return next;
  }
  if (g_core.left.load(std::memory_order_acquire))
    hot::notice(wire::Feature::kGeneral, wire::NoticeLevel::kMissing, 0,
                "The program restricted its system calls (seccomp), which ours would have broken: "
                "nothing was recorded from then on.");
  let_go(bye_of(next));
  return next == Next::kArmed && g_core.detach_after ? Next::kDetached : next;
}

}  // namespace gpuprof::agent
