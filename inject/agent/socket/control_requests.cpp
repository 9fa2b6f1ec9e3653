// SPDX-License-Identifier: Apache-2.0
//
// What is asked at the door, and the answers.
//
// Context:  worker
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <utility>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/control_socket.hpp"
#include "inject/agent/core.hpp"
#include "inject/cupti/cupti.hpp"
#include "inject/hot/state.hpp"
#include "inject/nvtx/nvtx.hpp"
#include "inject/python/frames/frames.hpp"

namespace gpuprof::agent {

namespace {

// Whoever comes has its request ready, or is no client of ours.
constexpr int kRequestMs = 100;

void refuse(const char* sentence) {
  const auto bytes = static_cast<std::uint32_t>(strlen(sentence));
  g_core.caller.send(wire::Refused{0, bytes}, sentence, bytes);
}

std::uint64_t dropped() {
  const wire::Stats* stats = hot::g_state.stats;
  if (!g_core.set_up || stats == nullptr) return 0;
  std::uint64_t sum = 0;
  for (const wire::Counter which : {wire::Counter::kDroppedLaneFull, wire::Counter::kDroppedNoLane,
                                    wire::Counter::kDroppedTooLong})
    sum += stats->counters[static_cast<std::uint32_t>(which)].load(std::memory_order_relaxed);
  return sum;
}

void tell_status() {
  char text[512];
  const int bytes =
      snprintf(text, sizeof text,
               "name=%s\npython=%d\ncuda=%d\nnvtx=%d\nattached=%d\nsession=%llx\nless=%u\n",
               g_core.address.name, python::minor_version(), cupti::driver_was_seen() ? 1 : 0,
               nvtx::was_seen() ? 1 : 0,
               (g_core.woke.load(std::memory_order_relaxed) & wire::kWokeAttach) != 0 ? 1 : 0,
               g_core.set_up ? static_cast<unsigned long long>(g_core.address.session) : 0ULL,
               g_core.set_up ? g_core.less : 0);
  wire::DoorStatus status{};
  status.state =
      static_cast<std::uint32_t>(g_core.set_up ? g_core.state : wire::AgentState::kArmed);
  status.woke = g_core.woke.load(std::memory_order_relaxed);
  status.in_session = g_core.set_up ? 1 : 0;
  status.text_bytes = static_cast<std::uint32_t>(bytes);
  status.daemon_pid = g_core.set_up ? g_core.config.daemon_pid : 0;
  status.steps = g_core.set_up ? hot::g_state.stats->steps.load(std::memory_order_relaxed) : 0;
  status.dropped = dropped();
  status.worker_cpu_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  status.armed_ns = g_core.armed_ns != 0 ? g_core.armed_ns : g_core.load_ns;
  g_core.caller.send(status, text, status.text_bytes);
}

bool busy() { return g_core.set_up && g_core.state != wire::AgentState::kArmed; }

void refuse_as_busy() {
  char text[256];
  snprintf(text, sizeof text,
           "process %d is being recorded already, by the daemon with process id %llu; wait until "
           "that is over, or end it with `gpuprof stop %d`",
           static_cast<int>(getpid()), static_cast<unsigned long long>(g_core.config.daemon_pid),
           static_cast<int>(getpid()));
  refuse(text);
}

// The address of the daemon is for our forked children, and for us after a fork.
Next join(const wire::DoorJoin& join, const wire::Packet& packet) {
  char text[256] = {};
  Address address;
  if (busy()) return refuse_as_busy(), Next::kGoOn;
  if (packet.tail_bytes >= sizeof text) return refuse("the request is too long"), Next::kGoOn;
  memcpy(text, packet.tail, packet.tail_bytes);
  if (!parse_address(text, &address) || address.socket_bytes == 0)
    return refuse("the request names no daemon"), Next::kGoOn;
  memcpy(address.name, g_core.address.name, sizeof address.name);
  address.nonce = g_core.address.nonce;
  g_core.address = address;
  g_core.address.session = join.session;
  g_core.detach_after = (join.flags & wire::kJoinThenDetach) != 0;
  g_core.join_ns = base::mono_ns();
  return Next::kJoined;
}

Next answer(const wire::Packet& packet, std::uint32_t peer_pid) {
  wire::DoorJoin asked;
  if (packet.as(&asked)) return join(asked, packet);
  switch (packet.type) {
    case wire::MessageType::kDoorQuery:
      tell_status();
      return Next::kGoOn;
    case wire::MessageType::kDoorStop:
      if (!busy()) return refuse("nothing is being recorded there"), Next::kGoOn;
      tell(wire::EndAsked{peer_pid, 0});
      g_core.caller.send(wire::DoorDone{base::mono_ns()}, nullptr, 0);
      return Next::kGoOn;
    case wire::MessageType::kDoorDetach:
      g_core.detach_answered = true;
      return Next::kDetached;
    default:
      refuse("the library in the process does not know this request");
      return Next::kGoOn;
  }
}

}  // namespace

Next answer_door() {
  for (;;) {
    std::uint32_t peer_pid = 0;
    base::UniqueFd peer = g_core.door.accept(&peer_pid);
    if (!peer) return Next::kGoOn;
    if (!g_core.caller.take(std::move(peer))) return Next::kGoOn;
    g_core.caller.wait(kRequestMs);
    wire::Packet packet;
    base::UniqueFd nothing;
    Next next = Next::kGoOn;
    if (g_core.caller.receive(&packet, &nothing) == Received::kPacket)
      next = answer(packet, peer_pid);
    if (next != Next::kGoOn) return next;
    g_core.caller.close();
  }
}

void say_detached() {
  if (!g_core.detach_answered) return;
  g_core.detach_answered = false;
  g_core.caller.send(wire::DoorDone{base::mono_ns()}, nullptr, 0);
  g_core.caller.close();
}

}  // namespace gpuprof::agent
