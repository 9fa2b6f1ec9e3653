// SPDX-License-Identifier: Apache-2.0
//
// Asks a process something at its door and waits for the answer.
//
// Context:  cli
#include "daemon/control/control_request.hpp"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <sstream>

#include "daemon/control/control_errors.hpp"
#include "daemon/control/control_sockets.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/control_socket.hpp"
#include "gpuprof/wire/segment.hpp"
#include "support/io/unix_socket.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::control {
namespace {

using support::error;

/// Its worker answers within a turn (100 ms); letting go of CUPTI may take a second or two.
constexpr int kReplyTimeoutMs = 2000;
constexpr int kDetachTimeoutMs = 10'000;
/// More, for one whose worker may be without a processor.
constexpr int kStarvedExtraMs = 8000;

using Buffer = std::array<std::byte, 8192>;

std::uint64_t ns_in(int ms) { return base::mono_ns() + static_cast<std::uint64_t>(ms) * 1'000'000; }

/// How long a process is waited for: longer while a thread of it runs or waits for a processor.
/// Asked before each look, so that a last one comes after the time is over: we may be starved, too.
class ReplyDeadline {
 public:
  ReplyDeadline(std::uint32_t pid, int ms)
      : pid_(static_cast<pid_t>(pid)),
        usual_ns_(ns_in(ms)),
        starved_ns_(ns_in(ms + kStarvedExtraMs)) {}
  bool over() const {
    const std::uint64_t now_ns = base::mono_ns();
    return now_ns >= starved_ns_ || (now_ns >= usual_ns_ && !support::any_thread_runnable(pid_));
  }

 private:
  pid_t pid_;
  std::uint64_t usual_ns_, starved_ns_;
};

/// How asking failed.
struct RequestFailure {
  bool unheard = false;  // a fork ended the worker, or a starved one gave us up before we spoke
  bool silent = false;   // nobody spoke, but somebody may be there
  bool closed = false;   // nor did anybody keep the door open
};

/// EAGAIN: so many wait there already that nobody else can, until the worker turns to them.
base::UniqueFd connect_to(const std::string& path, int wait_ms) {
  const std::uint64_t deadline_ns = ns_in(wait_ms);
  for (;;) {
    const bool last = base::mono_ns() >= deadline_ns;
    base::UniqueFd socket = support::connect_unix_socket(path, SOCK_NONBLOCK);
    if (socket || errno != EAGAIN || last) return socket;
    usleep(5000);
  }
}

/// A fork of the program has the library's thread away for a moment; its door is there again then.
base::UniqueFd connect_while_running(const ControlSocket& door, int wait_ms, int* failure) {
  constexpr int kMaxForkMs = 3000;
  const std::uint64_t deadline_ns = ns_in(kMaxForkMs);
  const ReplyDeadline patience(door.pid, wait_ms);
  for (;;) {
    const bool last = base::mono_ns() >= deadline_ns, crowded_for_good = patience.over();
    base::UniqueFd socket = connect_to(door.path, 0);
    *failure = socket ? 0 : errno;
    if (*failure == EAGAIN ? crowded_for_good
                           : !is_not_listening(*failure) || last ||
                                 !process_gone_reason(door.pid, door.program).empty())
      return socket;
    usleep(5000);
  }
}

/// Whether there is something to read in so long.
bool wait_readable(int socket, const ControlSocket& door, int timeout_ms) {
  constexpr int kLookMs = 100;
  const ReplyDeadline patience(door.pid, timeout_ms);
  for (;;) {
    const bool last = patience.over();
    pollfd one{socket, POLLIN, 0};
    if (::poll(&one, 1, kLookMs) == 1) return true;
    if (last) return false;
  }
}

support::Error no_reply_error(const ControlSocket& door, const char* what, int failure) {
  const bool away = is_not_listening(failure) || was_reset(failure);
  if (failure == EAGAIN)
    return error("process " + std::to_string(door.pid) + what + ": " + no_reply_reason(door.pid));
  const std::string gone = away ? process_gone_reason(door.pid, door.program) : "";
  return error("process " + std::to_string(door.pid) + what +
               (gone.empty() ? " " + not_listening_reason(failure) : ": " + gone));
}

/// The answer, in `buffer`.
template <typename M>
support::Result<wire::Packet> call_once(const ControlSocket& door, const M& request, int timeout_ms,
                                        Buffer& buffer, RequestFailure* failed) {
  const std::string who = "process " + std::to_string(door.pid);
  int failure = 0;
  const base::UniqueFd socket = connect_while_running(door, timeout_ms, &failure);
  failed->silent = !is_not_listening(failure);
  if (!socket) return no_reply_error(door, " does not answer at its door", failure);
  alignas(8) std::array<std::byte, 256> out;
  const std::size_t bytes = wire::encode_message(request, nullptr, 0, out.data(), out.size());
  if (::send(socket.get(), out.data(), bytes, MSG_NOSIGNAL) < 0) {
    failed->unheard = failed->closed = was_reset(errno);
    return no_reply_error(door, " closed its door", errno);
  }
  if (!wait_readable(socket.get(), door, timeout_ms))
    return error(who + " does not answer: " + no_reply_reason(door.pid));
  const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  wire::Packet packet;
  std::uint16_t major = 0;
  failed->unheard = got < 0 && was_reset(errno);
  failed->closed = got <= 0;
  if (got < 0) return no_reply_error(door, " closed its door", errno);
  if (got == 0) return error(who + " closed its door and said nothing");
  failed->silent = false;
  if (!wire::parse_packet(buffer.data(), static_cast<std::size_t>(got), &packet, &major) ||
      major != wire::kWireMajor)
    return error("the library in " + who + " is of another version of gpuprof");
  if (packet.type == wire::MessageType::kRefused)
    return error(who + ": " + std::string(packet.tail, packet.tail_bytes));
  return packet;
}

/// A door is closed before its process has ended, and while it forks.
bool is_there(const ControlSocket& door, const RequestFailure& failed) {
  int failure = 0;
  if (failed.silent && failed.closed) connect_while_running(door, 0, &failure);
  return failed.silent && !is_not_listening(failure) &&
         process_gone_reason(door.pid, door.program).empty();
}

/// @param silent  As of request_status().
template <typename M>
support::Result<wire::Packet> call(const ControlSocket& door, const M& request, int timeout_ms,
                                   Buffer& buffer, bool* silent = nullptr) {
  const std::uint64_t deadline_ns = ns_in(timeout_ms);
  for (;;) {
    const bool last = base::mono_ns() >= deadline_ns;
    RequestFailure failed;
    auto answer = call_once(door, request, timeout_ms, buffer, &failed);
    if (answer || !failed.unheard || last) {
      if (silent != nullptr) *silent = !answer && is_there(door, failed);
      return answer;
    }
    usleep(5000);
  }
}

const char* state_text(std::uint32_t state) {
  switch (static_cast<wire::AgentState>(state)) {
    case wire::AgentState::kCounting:
      return "counting";
    case wire::AgentState::kRecording:
      return "recording";
    case wire::AgentState::kCountingActivityEnabled:
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
support::Result<void> send_request(const ControlSocket& door, const M& request, int timeout_ms) {
  alignas(8) Buffer buffer;
  const auto answer = call(door, request, timeout_ms, buffer);
  if (!answer) return answer.error();
  return {};
}

}  // namespace

std::uint32_t listener_of(const std::string& path, int* failure, int wait_ms) {
  const base::UniqueFd socket = connect_to(path, wait_ms);
  *failure = socket ? 0 : errno;
  if (!socket) return 0;
  ucred who{};
  socklen_t bytes = sizeof who;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) return 0;
  return who.pid > 0 ? static_cast<std::uint32_t>(who.pid) : 0;
}

bool is_listening(const ControlSocket& door) {
  int failure = 0;
  return listener_of(door.path, &failure) != 0 || failure == EAGAIN;
}

support::Result<TargetStatus> request_status(const ControlSocket& door, bool* silent) {
  alignas(8) Buffer buffer;
  GPUPROF_TRY(packet, call(door, wire::StatusRequest{}, kReplyTimeoutMs, buffer, silent));
  wire::StatusReply said;
  if (!packet.as(&said)) return error("the answer is none of gpuprof");
  const std::string text(packet.tail, packet.tail_bytes);
  TargetStatus status;
  status.door = door;
  status.name = value_of(text, "name");
  status.state = state_text(said.state);
  status.in_session = said.in_session != 0;
  status.attached = value_of(text, "attached") == "1";
  status.reduced =
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

support::Result<void> request_stop(const ControlSocket& door) {
  return send_request(door, wire::StopRequest{}, kReplyTimeoutMs);
}

support::Result<void> request_detach(const ControlSocket& door) {
  return send_request(door, wire::DetachRequest{}, kDetachTimeoutMs);
}

}  // namespace gpuprof::control
