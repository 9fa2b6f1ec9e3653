// SPDX-License-Identifier: Apache-2.0
//
// What is asked at the control socket, and the answers.
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
#include "inject/messages/agent.hpp"
#include "inject/nvtx/nvtx.hpp"
#include "inject/python/frames/frames.hpp"

namespace gpuprof::agent {

namespace {

// Whoever comes has its request ready, or is no client of ours.
constexpr int kRequestMs = 100;

void refuse(const char* message) {
  const auto bytes = static_cast<std::uint32_t>(strlen(message));
  g_agent.control_connection.send(wire::Refused{0, bytes}, message, bytes);
}

std::uint64_t dropped() {
  const wire::Stats* stats = hot::g_state.stats;
  if (!g_agent.components_configured || stats == nullptr) return 0;
  std::uint64_t sum = 0;
  for (const wire::Counter which : {wire::Counter::kDroppedRingFull, wire::Counter::kDroppedNoRing,
                                    wire::Counter::kDroppedTooLong})
    sum += stats->counters[static_cast<std::uint32_t>(which)].load(std::memory_order_relaxed);
  return sum;
}

void reply_status() {
  char text[512];
  const int bytes = snprintf(
      text, sizeof text,
      "name=%s\npython=%d\ncuda=%d\nnvtx=%d\nattached=%d\nsession=%llx\nless=%u\n",
      g_agent.address.name, python::minor_version(), cupti::is_driver_initialised() ? 1 : 0,
      nvtx::is_in_use() ? 1 : 0,
      (g_agent.wake_reasons.load(std::memory_order_relaxed) & wire::kWakeAttach) != 0 ? 1 : 0,
      g_agent.components_configured ? static_cast<unsigned long long>(g_agent.address.session)
                                    : 0ULL,
      g_agent.components_configured ? g_agent.throttle : 0);
  wire::StatusReply status{};
  status.state = static_cast<std::uint32_t>(
      g_agent.components_configured ? g_agent.state : wire::AgentState::kArmed);
  status.woke = g_agent.wake_reasons.load(std::memory_order_relaxed);
  status.in_session = g_agent.components_configured ? 1 : 0;
  status.text_bytes = static_cast<std::uint32_t>(bytes);
  status.daemon_pid = g_agent.components_configured ? g_agent.config.daemon_pid : 0;
  status.steps =
      g_agent.components_configured ? hot::g_state.stats->steps.load(std::memory_order_relaxed) : 0;
  status.dropped = dropped();
  status.worker_cpu_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  status.armed_ns = g_agent.armed_ns != 0 ? g_agent.armed_ns : g_agent.load_ns;
  g_agent.control_connection.send(status, text, status.text_bytes);
}

bool is_session_active() {
  return g_agent.components_configured && g_agent.state != wire::AgentState::kArmed;
}

void reply_busy() {
  char text[256];
  snprintf(text, sizeof text, messages::agent::kAlreadyRecorded,
           static_cast<unsigned long long>(g_agent.config.daemon_pid), static_cast<int>(getpid()));
  refuse(text);
}

// The address of the daemon is for our forked children, and for us after a fork.
NextAction handle_join(const wire::JoinRequest& request, const wire::Packet& packet) {
  char text[256] = {};
  Address address;
  if (is_session_active()) return reply_busy(), NextAction::kContinue;
  if (packet.tail_bytes >= sizeof text)
    return refuse(messages::agent::kRequestTooLong), NextAction::kContinue;
  memcpy(text, packet.tail, packet.tail_bytes);
  if (!parse_address(text, &address) || address.socket_bytes == 0)
    return refuse(messages::agent::kRequestWithoutDaemon), NextAction::kContinue;
  memcpy(address.name, g_agent.address.name, sizeof address.name);
  address.nonce = g_agent.address.nonce;
  g_agent.address = address;
  g_agent.address.session = request.session;
  g_agent.detach_after_session = (request.flags & wire::kJoinThenDetach) != 0;
  g_agent.join_ns = base::mono_ns();
  return NextAction::kServeJoined;
}

NextAction handle_request(const wire::Packet& packet, std::uint32_t peer_pid) {
  wire::JoinRequest asked;
  if (packet.as(&asked)) return handle_join(asked, packet);
  switch (packet.type) {
    case wire::MessageType::kStatusRequest:
      reply_status();
      return NextAction::kContinue;
    case wire::MessageType::kStopRequest:
      if (!is_session_active()) return refuse(messages::agent::kNotRecorded), NextAction::kContinue;
      send_message(wire::ForwardedStop{peer_pid, 0});
      g_agent.control_connection.send(wire::RequestDone{base::mono_ns()}, nullptr, 0);
      return NextAction::kContinue;
    case wire::MessageType::kDetachRequest:
      g_agent.detach_reply_pending = true;
      return NextAction::kDetach;
    default:
      refuse(messages::agent::kUnknownRequest);
      return NextAction::kContinue;
  }
}

}  // namespace

NextAction serve_control_request() {
  for (;;) {
    std::uint32_t peer_pid = 0;
    base::UniqueFd peer = g_agent.control_socket.accept(&peer_pid);
    if (!peer) return NextAction::kContinue;
    if (!g_agent.control_connection.adopt(std::move(peer))) return NextAction::kContinue;
    g_agent.control_connection.wait(kRequestMs);
    wire::Packet packet;
    base::UniqueFd nothing;
    NextAction next = NextAction::kContinue;
    if (g_agent.control_connection.receive(&packet, &nothing) == ReceiveResult::kPacket)
      next = handle_request(packet, peer_pid);
    if (next != NextAction::kContinue) return next;
    g_agent.control_connection.close();
  }
}

void reply_detached() {
  if (!g_agent.detach_reply_pending) return;
  g_agent.detach_reply_pending = false;
  g_agent.control_connection.send(wire::RequestDone{base::mono_ns()}, nullptr, 0);
  g_agent.control_connection.close();
}

}  // namespace gpuprof::agent
