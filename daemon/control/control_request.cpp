// SPDX-License-Identifier: Apache-2.0
//
// Asks a process something at its control socket and waits for the answer.
//
// Context:  cli
#include "daemon/control/control_request.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <sstream>

#include "daemon/control/control_errors.hpp"
#include "daemon/control/control_sockets.hpp"
#include "daemon/messages/control.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/control_socket.hpp"
#include "gpuprof/wire/segment.hpp"
#include "support/io/unix_socket.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::control {
namespace {

using support::error;

/// Its worker answers within a turn (100 ms); releasing CUPTI may take a second or two.
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
  bool closed = false;   // nor did anybody keep the control socket open
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

/// A fork of the program has the library's thread away for a moment; its control socket is there
/// again then.
base::UniqueFd connect_while_running(const ControlSocket& control_socket, int wait_ms,
                                     int* failure) {
  constexpr int kMaxForkMs = 3000;
  const std::uint64_t deadline_ns = ns_in(kMaxForkMs);
  const ReplyDeadline timeout(control_socket.pid, wait_ms);
  for (;;) {
    const bool last = base::mono_ns() >= deadline_ns, crowded_for_good = timeout.over();
    base::UniqueFd socket = connect_to(control_socket.path, 0);
    *failure = socket ? 0 : errno;
    if (*failure == EAGAIN
            ? crowded_for_good
            : !is_not_listening(*failure) || last ||
                  !process_gone_reason(control_socket.pid, control_socket.program).empty())
      return socket;
    usleep(5000);
  }
}

/// Whether there is something to read in so long.
bool wait_readable(int socket, const ControlSocket& control_socket, int timeout_ms) {
  constexpr int kLookMs = 100;
  const ReplyDeadline timeout(control_socket.pid, timeout_ms);
  for (;;) {
    const bool last = timeout.over();
    pollfd one{socket, POLLIN, 0};
    if (::poll(&one, 1, kLookMs) == 1) return true;
    if (last) return false;
  }
}

/// @param closed  It listened, and closed its control socket; else nobody listened there.
support::Error no_reply_error(const ControlSocket& control_socket, bool closed, int failure) {
  const std::uint32_t pid = control_socket.pid;
  std::string reason;
  if (failure == EAGAIN)
    reason = no_reply_reason(pid);
  else if (is_not_listening(failure) || was_reset(failure))
    reason = process_gone_reason(pid, control_socket.program);
  if (!reason.empty())
    return error(closed ? fmt::format(messages::control::kClosed, pid, reason)
                        : fmt::format(messages::control::kNotListening, pid, reason));
  reason = not_listening_reason(failure);
  return error(closed ? fmt::format(messages::control::kClosedError, pid, reason)
                      : fmt::format(messages::control::kNotListeningError, pid, reason));
}

/// The answer, in `buffer`.
template <typename M>
support::Result<wire::Packet> call_once(const ControlSocket& control_socket, const M& request,
                                        int timeout_ms, Buffer& buffer, RequestFailure* failed) {
  int failure = 0;
  const base::UniqueFd socket = connect_while_running(control_socket, timeout_ms, &failure);
  failed->silent = !is_not_listening(failure);
  if (!socket) return no_reply_error(control_socket, false, failure);
  alignas(8) std::array<std::byte, 256> out;
  const std::size_t bytes = wire::encode_message(request, nullptr, 0, out.data(), out.size());
  if (::send(socket.get(), out.data(), bytes, MSG_NOSIGNAL) < 0) {
    failed->unheard = failed->closed = was_reset(errno);
    return no_reply_error(control_socket, true, errno);
  }
  if (!wait_readable(socket.get(), control_socket, timeout_ms))
    return error(fmt::format(messages::control::kDoesNotRespond, control_socket.pid,
                             no_reply_reason(control_socket.pid)));
  const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  wire::Packet packet;
  std::uint16_t major = 0;
  failed->unheard = got < 0 && was_reset(errno);
  failed->closed = got <= 0;
  if (got < 0) return no_reply_error(control_socket, true, errno);
  if (got == 0) return error(fmt::format(messages::control::kClosedUnanswered, control_socket.pid));
  failed->silent = false;
  if (!wire::parse_packet(buffer.data(), static_cast<std::size_t>(got), &packet, &major) ||
      major != wire::kWireMajor)
    return error(fmt::format(messages::control::kOtherVersion, control_socket.pid));
  if (packet.type == wire::MessageType::kRefused)
    return error(fmt::format(messages::control::kRefused, control_socket.pid,
                             std::string_view(packet.tail, packet.tail_bytes)));
  return packet;
}

/// A control socket is closed before its process has ended, and while it forks.
bool is_there(const ControlSocket& control_socket, const RequestFailure& failed) {
  int failure = 0;
  if (failed.silent && failed.closed) connect_while_running(control_socket, 0, &failure);
  return failed.silent && !is_not_listening(failure) &&
         process_gone_reason(control_socket.pid, control_socket.program).empty();
}

/// @param silent  As of request_status().
template <typename M>
support::Result<wire::Packet> call(const ControlSocket& control_socket, const M& request,
                                   int timeout_ms, Buffer& buffer, bool* silent = nullptr) {
  const std::uint64_t deadline_ns = ns_in(timeout_ms);
  for (;;) {
    const bool last = base::mono_ns() >= deadline_ns;
    RequestFailure failed;
    auto answer = call_once(control_socket, request, timeout_ms, buffer, &failed);
    if (answer || !failed.unheard || last) {
      if (silent != nullptr) *silent = !answer && is_there(control_socket, failed);
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
support::Result<void> send_request(const ControlSocket& control_socket, const M& request,
                                   int timeout_ms) {
  alignas(8) Buffer buffer;
  const auto answer = call(control_socket, request, timeout_ms, buffer);
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

bool is_listening(const ControlSocket& control_socket) {
  int failure = 0;
  return listener_of(control_socket.path, &failure) != 0 || failure == EAGAIN;
}

support::Result<TargetStatus> request_status(const ControlSocket& control_socket, bool* silent) {
  alignas(8) Buffer buffer;
  GPUPROF_TRY(packet, call(control_socket, wire::StatusRequest{}, kReplyTimeoutMs, buffer, silent));
  wire::StatusReply reported;
  if (!packet.as(&reported))
    return error(fmt::format(messages::control::kInvalidResponse, control_socket.pid));
  const std::string text(packet.tail, packet.tail_bytes);
  TargetStatus status;
  status.control_socket = control_socket;
  status.name = value_of(text, "name");
  status.state = state_text(reported.state);
  status.in_session = reported.in_session != 0;
  status.attached = value_of(text, "attached") == "1";
  status.reduced =
      static_cast<std::uint32_t>(std::strtoul(value_of(text, "less").c_str(), nullptr, 10));
  status.cuda = value_of(text, "cuda") == "1";
  status.nvtx = value_of(text, "nvtx") == "1";
  status.daemon_pid = reported.daemon_pid;
  status.steps = reported.steps;
  status.dropped = reported.dropped;
  status.worker_cpu_ns = reported.worker_cpu_ns;
  status.age_ns = base::mono_ns() - reported.armed_ns;
  return status;
}

support::Result<void> request_stop(const ControlSocket& control_socket) {
  return send_request(control_socket, wire::StopRequest{}, kReplyTimeoutMs);
}

support::Result<void> request_detach(const ControlSocket& control_socket) {
  return send_request(control_socket, wire::DetachRequest{}, kDetachTimeoutMs);
}

}  // namespace gpuprof::control
