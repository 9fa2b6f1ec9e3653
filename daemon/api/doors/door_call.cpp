// SPDX-License-Identifier: Apache-2.0
//
// Asks a process something at its door and waits for the answer.
//
// Context:  cli
#include "daemon/api/doors/door_call.hpp"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <sstream>

#include "daemon/api/doors/closed_door.hpp"
#include "daemon/api/doors/doors.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/door.hpp"
#include "gpuprof/wire/segment.hpp"
#include "support/proc.hpp"
#include "support/unix_socket.hpp"

namespace gpuprof::api {
namespace {

using support::error;

/// Its worker answers within a turn (100 ms); letting go of CUPTI may take a second or two.
constexpr int kAnswerMs = 2000;
constexpr int kDetachMs = 10'000;

using Buffer = std::array<std::byte, 8192>;

/// EAGAIN: so many wait there already that nobody else can, until the worker turns to them.
base::UniqueFd knock(const std::string& path, int wait_ms) {
  const std::uint64_t deadline_ns =
      base::mono_ns() + static_cast<std::uint64_t>(wait_ms) * 1'000'000;
  for (;;) {
    base::UniqueFd socket = support::connect_socket(path, SOCK_NONBLOCK);
    if (socket || errno != EAGAIN || base::mono_ns() >= deadline_ns) return socket;
    usleep(5000);
  }
}

/// A fork of the program has the library's thread away for a moment; its door is there again then.
base::UniqueFd knock_while_it_runs(const Door& door, int wait_ms, int* failure) {
  constexpr std::uint64_t kLongestFork_ns = 3'000'000'000;
  const std::uint64_t deadline_ns = base::mono_ns() + kLongestFork_ns;
  for (;;) {
    base::UniqueFd socket = knock(door.path, wait_ms);
    *failure = socket ? 0 : errno;
    if (!is_closed(*failure) || !why_gone(door.pid, door.program).empty() ||
        base::mono_ns() >= deadline_ns)
      return socket;
    usleep(5000);
  }
}

support::Error not_answered(const Door& door, const char* what, int failure) {
  const bool away = is_closed(failure) || is_unheard(failure);
  const std::string gone = away ? why_gone(door.pid, door.program) : "";
  return error("process " + std::to_string(door.pid) + what +
               (gone.empty() ? " " + why_closed(failure) : ": " + gone));
}

/// The answer, in `buffer`. `*unheard`: the request was not read; a fork may have ended the
/// library's thread, or on a busy machine it gave us up before we got to speak.
template <typename M>
support::Result<wire::Packet> call_once(const Door& door, const M& request, int timeout_ms,
                                        Buffer& buffer, bool* unheard) {
  const std::string who = "process " + std::to_string(door.pid);
  *unheard = false;
  int failure = 0;
  const base::UniqueFd socket = knock_while_it_runs(door, timeout_ms, &failure);
  if (!socket) return not_answered(door, " does not answer at its door", failure);
  alignas(8) std::array<std::byte, 256> out;
  const std::size_t bytes = wire::encode_message(request, nullptr, 0, out.data(), out.size());
  if (::send(socket.get(), out.data(), bytes, MSG_NOSIGNAL) < 0) {
    *unheard = is_unheard(errno);
    return not_answered(door, " closed its door", errno);
  }
  pollfd one{socket.get(), POLLIN, 0};
  if (::poll(&one, 1, timeout_ms) != 1)
    return error(who + " does not answer; is it stopped? (`kill -CONT " + std::to_string(door.pid) +
                 "` lets it go on)");
  const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  wire::Packet packet;
  std::uint16_t major = 0;
  *unheard = got < 0 && is_unheard(errno);
  if (got < 0) return not_answered(door, " closed its door", errno);
  if (got == 0) return error(who + " closed its door and said nothing");
  if (!wire::parse_packet(buffer.data(), static_cast<std::size_t>(got), &packet, &major) ||
      major != wire::kWireMajor)
    return error("the library in " + who + " is of another version of gpuprof");
  if (packet.type == wire::MessageType::kRefused)
    return error(who + ": " + std::string(packet.tail, packet.tail_bytes));
  return packet;
}

template <typename M>
support::Result<wire::Packet> call(const Door& door, const M& request, int timeout_ms,
                                   Buffer& buffer) {
  const std::uint64_t deadline_ns =
      base::mono_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
  for (;;) {
    bool unheard = false;
    auto answer = call_once(door, request, timeout_ms, buffer, &unheard);
    if (answer || !unheard || base::mono_ns() >= deadline_ns) return answer;
    usleep(5000);
  }
}

const char* state_text(std::uint32_t state) {
  switch (static_cast<wire::AgentState>(state)) {
    case wire::AgentState::kCounting:
      return "counting";
    case wire::AgentState::kRecording:
      return "recording";
    case wire::AgentState::kCountingKindsKept:
      return "counting, kinds kept";
    default:
      return "armed";
  }
}

std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(key + "=", 0) == 0) return line.substr(key.size() + 1);
  return "";
}

template <typename M>
support::Result<void> ask(const Door& door, const M& request, int timeout_ms) {
  alignas(8) Buffer buffer;
  const auto answer = call(door, request, timeout_ms, buffer);
  if (!answer) return answer.error();
  return {};
}

}  // namespace

std::uint32_t listener_of(const std::string& path, int* failure, int wait_ms) {
  const base::UniqueFd socket = knock(path, wait_ms);
  *failure = socket ? 0 : errno;
  if (!socket) return 0;
  ucred who{};
  socklen_t bytes = sizeof who;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) return 0;
  return who.pid > 0 ? static_cast<std::uint32_t>(who.pid) : 0;
}

bool is_open(const Door& door) {
  int failure = 0;
  return listener_of(door.path, &failure) != 0 || failure == EAGAIN;
}

support::Result<ProcessStatus> ask_status(const Door& door) {
  alignas(8) Buffer buffer;
  GPUPROF_TRY(packet, call(door, wire::DoorQuery{}, kAnswerMs, buffer));
  wire::DoorStatus said;
  if (!packet.as(&said)) return error("the answer is none of gpuprof");
  const std::string text(packet.tail, packet.tail_bytes);
  ProcessStatus status;
  status.door = door;
  status.name = value_of(text, "name");
  status.state = state_text(said.state);
  status.in_session = said.in_session != 0;
  status.attached = value_of(text, "attached") == "1";
  status.less =
      static_cast<std::uint32_t>(std::strtoul(value_of(text, "less").c_str(), nullptr, 10));
  status.cuda = value_of(text, "cuda") == "1";
  status.nvtx = value_of(text, "nvtx") == "1";
  status.daemon_pid = said.daemon_pid;
  status.steps = said.steps;
  status.dropped = said.dropped;
  status.worker_cpu_ns = said.worker_cpu_ns;
  status.age_ns = base::mono_ns() - said.armed_ns;
  return status;
}

support::Result<void> ask_stop(const Door& door) { return ask(door, wire::DoorStop{}, kAnswerMs); }

support::Result<void> ask_detach(const Door& door) {
  return ask(door, wire::DoorDetach{}, kDetachMs);
}

}  // namespace gpuprof::api
