// SPDX-License-Identifier: Apache-2.0
//
// The worker's life: hello, settings, turns until it is told to stop or parked for a fork.
//
// Context:  worker
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "inject/agent/core.hpp"
#include "inject/agent/own_files.hpp"
#include "inject/agent/segment_map.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/state.hpp"
#include "inject/hot/worker_thread.hpp"
#include "inject/nvtx/nvtx.hpp"
#include "inject/sample/sampler.hpp"
#include "inject/torch/torch.hpp"

namespace gpuprof::agent {

namespace {

constexpr std::uint64_t kConfigDeadlineNs = 2'000'000'000;
constexpr std::uint64_t kShortLifeNs = 20'000'000;
// Only to notice that the daemon is gone: everything else wakes us.
constexpr std::uint32_t kArmedTurnMs = 5000;

std::size_t read_file(const char* path, char* to, std::size_t room) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = ::read(fd, to, room);
  ::close(fd);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// Field 22 of /proc/self/stat; the name in field 2 may hold anything, so count from its end.
std::uint64_t process_start_ticks() {
  char text[1024];
  const std::size_t bytes = read_file("/proc/self/stat", text, sizeof text - 1);
  text[bytes] = '\0';
  const char* at = strrchr(text, ')');
  if (at == nullptr) return 0;
  int field = 2;
  for (; *at != '\0' && field < 22; ++at)
    if (*at == ' ') ++field;
  std::uint64_t ticks = 0;
  for (; *at >= '0' && *at <= '9'; ++at) ticks = ticks * 10 + static_cast<std::uint64_t>(*at - '0');
  return ticks;
}

bool accept_config(const wire::Packet& packet, int segment_fd) {
  wire::Config config;
  if (!packet.as(&config)) return false;
  if (g_core.set_up) return true;  // we are back; everything is as it was
  if (segment_fd < 0) return false;
  if (packet.tail_bytes != config.step_text_bytes || packet.tail_bytes >= sizeof g_core.step_text)
    return false;
  if (!publish_segment(segment_fd, config.segment_bytes)) return false;
  memcpy(g_core.step_text, packet.tail, packet.tail_bytes);
  g_core.step_text[packet.tail_bytes] = '\0';
  g_core.config = config;
  settle_memory();
  return true;
}

bool wait_for_config() {
  const std::uint64_t deadline = base::mono_ns() + kConfigDeadlineNs;
  while (base::mono_ns() < deadline && !hot::worker_park_wanted()) {
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
  const std::uint64_t deadline = base::mono_ns() + kShortLifeNs;
  for (;;) {
    g_core.seen_wake = hot::g_state.plan->wake.load(std::memory_order_acquire);
    hot::worker_pause_point();
    const std::uint64_t now = base::mono_ns();
    if (g_core.woke.load(std::memory_order_acquire) != wire::kWokePython ||
        hot::worker_park_wanted() || now >= deadline)
      return;
    sleep(static_cast<std::uint32_t>((deadline - now) / 1'000'000) + 1);
  }
}

// Make the rooms ready.
bool set_up() {
  if (!connect()) return false;
  wait_for_a_longer_life();
  open_outbox();
  send_environment_facts();
  g_core.state = wire::AgentState::kArmed;
  g_core.applied_sequence = 0;
  g_core.set_up = true;
  configure_rooms();
  apply_plan();
  set_phase(Phase::kReady);
  return true;
}

// After a fork: the kernel thread is another one, and with its own table went every descriptor.
bool come_back() {
  if (!g_core.own_files) return true;
  g_core.connection.forget();
  if (!connect()) return false;
  hot::g_state.stats->parked.store(0, std::memory_order_release);
  if (g_core.state == wire::AgentState::kRecording) restart_sampling();
  return true;
}

enum class Turn { kGoOn, kPark, kStop, kReconnect };

Turn answer(const wire::Packet& packet) {
  wire::Flush flush;
  if (packet.as(&flush)) {
    cupti::flush(flush.forced != 0, 1000);
    g_core.connection.send(wire::FlushDone{flush.token, base::mono_ns()}, nullptr, 0);
  }
  const bool stop =
      packet.type == wire::MessageType::kStop || packet.type == wire::MessageType::kRefused;
  return stop ? Turn::kStop : Turn::kGoOn;
}

Turn read_messages() {
  for (;;) {
    wire::Packet packet;
    base::UniqueFd fd;
    switch (g_core.connection.receive(&packet, &fd)) {
      case Received::kNothing:
        return Turn::kGoOn;
      case Received::kPeerGone:
        return Turn::kStop;
      case Received::kDescriptorLost:
        return Turn::kReconnect;
      case Received::kPacket:
        if (const Turn turn = answer(packet); turn != Turn::kGoOn) return turn;
    }
  }
}

// The driver was loaded although CUDA_INJECTION64_PATH leads elsewhere.
void look_for_driver() {
  if (g_core.injection_is_ours || cupti::driver_was_seen() || !cupti::driver_mapped()) return;
  cupti::driver_seen();
  g_core.woke.fetch_or(wire::kWokeCuda, std::memory_order_acq_rel);
  apply_cuda(g_core.state);
}

std::uint32_t one_turn() {
  const std::uint64_t now = base::mono_ns();
  if (g_core.woke.load(std::memory_order_acquire) != g_core.told_woke) say_hello();
  apply_plan();
  hot::worker_resume_timer_done();
  wire::Stats* stats = hot::g_state.stats;
  stats->heartbeat_ns.store(now, std::memory_order_relaxed);
  stats->counters[static_cast<std::uint32_t>(wire::Counter::kWorkerCpuNs)].store(
      base::clock_ns(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
  follow_credentials();
  nvtx::tick();
  if (g_core.state == wire::AgentState::kArmed) return kArmedTurnMs;
  look_for_driver();
  std::uint32_t next_ms = std::min<std::uint32_t>(500, torch::tick(now));
  if (cupti::driver_was_seen()) next_ms = std::min(next_ms, cupti::tick(now));
  sample::retire_ended_threads(now);
  if (g_core.state == wire::AgentState::kRecording) next_ms = std::min(next_ms, sample::tick(now));
  return std::max<std::uint32_t>(next_ms, 1);
}

Turn turns() {
  for (;;) {
    // acquire; pairs with the release in wake_agent
    g_core.seen_wake = hot::g_state.plan->wake.load(std::memory_order_acquire);
    if (hot::worker_park_wanted()) return Turn::kPark;
    hot::worker_pause_point();
    if (!g_core.own_files && !g_core.connection.intact()) return Turn::kReconnect;
    if (const Turn turn = read_messages(); turn != Turn::kGoOn) return turn;
    sleep(one_turn());
  }
}

void let_go(wire::ByeReason reason) {
  all_off();
  g_core.connection.send(wire::Bye{static_cast<std::uint32_t>(reason), 0, base::mono_ns()}, nullptr,
                         0);
  withdraw_segment();
  g_core.set_up = false;
  g_core.connection.close();
}

}  // namespace

bool say_hello() {
  wire::Hello hello{};
  char tail[4096 + 2048];
  const ssize_t exe = readlink("/proc/self/exe", tail, 4096);
  hello.exe_bytes = exe > 0 ? static_cast<std::uint32_t>(exe) : 0;
  hello.command_bytes =
      static_cast<std::uint32_t>(read_file("/proc/self/cmdline", tail + hello.exe_bytes, 2048));
  hello.major = wire::kWireMajor;
  hello.minor = wire::kWireMinor;
  const std::uint32_t woke = g_core.woke.load(std::memory_order_acquire);
  hello.woke = g_core.set_up ? woke | wire::kWokeAgain : woke;
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.ppid = static_cast<std::uint32_t>(getppid());
  hello.mono_ns = base::mono_ns();
  hello.real_ns = base::real_ns();
  hello.process_start_ticks = process_start_ticks();
  hello.load_ns = g_core.load_ns;
  hello.session = g_core.address.session;
  g_core.told_woke = woke;
  return g_core.connection.send(hello, tail, hello.exe_bytes + hello.command_bytes);
}

bool worker_body() {
  prctl(PR_SET_NAME, "gpuprof");
  g_core.own_files = take_own_files();
  if (!(g_core.set_up ? come_back() : set_up())) {
    if (hot::worker_park_wanted()) return true;
    if (g_core.set_up) let_go(wire::ByeReason::kDisabled);
    g_core.connection.close();
    set_phase(Phase::kDisabled);
    return false;
  }
  for (;;) {
    switch (turns()) {
      case Turn::kGoOn:
      case Turn::kPark:
        // The connection ends with us; the process does not.
        hot::g_state.stats->parked.store(1, std::memory_order_release);
        return true;
      case Turn::kStop:
        let_go(wire::ByeReason::kStopped);
        set_phase(Phase::kDisabled);
        return false;
      case Turn::kReconnect:
        // The program closed descriptors it did not know; start again with fresh ones.
        let_go(wire::ByeReason::kDisabled);
        if (set_up()) break;
        set_phase(Phase::kDisabled);
        return false;
    }
  }
}

}  // namespace gpuprof::agent
