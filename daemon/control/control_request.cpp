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

namespace gpuprof::api {
namespace {

using support::error;

/// Its worker answers within a turn (100 ms); letting go of CUPTI may take a second or two.
constexpr int kAnswerMs = 2000;
constexpr int kDetachMs = 10'000;
/// More, for one whose worker may be without a processor.
constexpr int kStarvedMs = 8000;

using Buffer = std::array<std::byte, 8192>;

std::uint64_t ns_in(int ms) { return base::mono_ns() + static_cast<std::uint64_t>(ms) * 1'000'000; }

/// How long a process is waited for: longer while a thread of it runs or waits for a processor.
/// Asked before each look, so that a last one comes after the time is over: we may be starved, too.
class Patience {
 public:
  Patience(std::uint32_t pid, int ms)
      : pid_(static_cast<pid_t>(pid)), usual_ns_(ns_in(ms)), starved_ns_(ns_in(ms + kStarvedMs)) {}
  bool over() const {
    const std::uint64_t now_ns = base::mono_ns();
    return now_ns >= starved_ns_ || (now_ns >= usual_ns_ && !support::any_thread_busy(pid_));
  }

 private:
  pid_t pid_;
  std::uint64_t usual_ns_, starved_ns_;
};

/// How asking failed.
struct Failed {
  bool unheard = false;  // a fork ended the worker, or a starved one gave us up before we spoke
  bool silent = false;   // nobody spoke, but somebody may be there
  bool closed = false;   // nor did anybody keep the door open
};

/// EAGAIN: so many wait there already that nobody else can, until the worker turns to them.
base::UniqueFd knock(const std::string& path, int wait_ms) {
  const std::uint64_t deadline_ns = ns_in(wait_ms);
  for (;;) {
    const bool last = base::mono_ns() >= deadline_ns;
    base::UniqueFd socket = support::connect_socket(path, SOCK_NONBLOCK);
    if (socket || errno != EAGAIN || last) return socket;
    usleep(5000);
  }
}

/// A fork of the program has the library's thread away for a moment; its door is there again then.
base::UniqueFd knock_while_it_runs(const Door& door, int wait_ms, int* failure) {
  constexpr int kLongestForkMs = 3000;
  const std::uint64_t deadline_ns = ns_in(kLongestForkMs);
  const Patience patience(door.pid, wait_ms);
  for (;;) {
    const bool last = base::mono_ns() >= deadline_ns, crowded_for_good = patience.over();
    base::UniqueFd socket = knock(door.path, 0);
    *failure = socket ? 0 : errno;
    if (*failure == EAGAIN
            ? crowded_for_good
            : !is_closed(*failure) || last || !why_gone(door.pid, door.program).empty())
      return socket;
    usleep(5000);
  }
}

/// Whether there is something to read in so long.
bool speaks(int socket, const Door& door, int timeout_ms) {
  constexpr int kLookMs = 100;
  const Patience patience(door.pid, timeout_ms);
  for (;;) {
    const bool last = patience.over();
    pollfd one{socket, POLLIN, 0};
    if (::poll(&one, 1, kLookMs) == 1) return true;
    if (last) return false;
  }
}

support::Error not_answered(const Door& door, const char* what, int failure) {
  const bool away = is_closed(failure) || is_unheard(failure);
  if (failure == EAGAIN)
    return error("process " + std::to_string(door.pid) + what + ": " + why_silent(door.pid));
  const std::string gone = away ? why_gone(door.pid, door.program) : "";
  return error("process " + std::to_string(door.pid) + what +
               (gone.empty() ? " " + why_closed(failure) : ": " + gone));
}

/// The answer, in `buffer`.
template <typename M>
support::Result<wire::Packet> call_once(const Door& door, const M& request, int timeout_ms,
                                        Buffer& buffer, Failed* failed) {
  const std::string who = "process " + std::to_string(door.pid);
  int failure = 0;
  const base::UniqueFd socket = knock_while_it_runs(door, timeout_ms, &failure);
  failed->silent = !is_closed(failure);
  if (!socket) return not_answered(door, " does not answer at its door", failure);
  alignas(8) std::array<std::byte, 256> out;
  const std::size_t bytes = wire::encode_message(request, nullptr, 0, out.data(), out.size());
  if (::send(socket.get(), out.data(), bytes, MSG_NOSIGNAL) < 0) {
    failed->unheard = failed->closed = is_unheard(errno);
    return not_answered(door, " closed its door", errno);
  }
  if (!speaks(socket.get(), door, timeout_ms))
    return error(who + " does not answer: " + why_silent(door.pid));
  const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  wire::Packet packet;
  std::uint16_t major = 0;
  failed->unheard = got < 0 && is_unheard(errno);
  failed->closed = got <= 0;
  if (got < 0) return not_answered(door, " closed its door", errno);
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
bool is_there(const Door& door, const Failed& failed) {
  int failure = 0;
  if (failed.silent && failed.closed) knock_while_it_runs(door, 0, &failure);
  return failed.silent && !is_closed(failure) && why_gone(door.pid, door.program).empty();
}

/// @param silent  As of ask_status().
template <typename M>
support::Result<wire::Packet> call(const Door& door, const M& request, int timeout_ms,
                                   Buffer& buffer, bool* silent = nullptr) {
  const std::uint64_t deadline_ns = ns_in(timeout_ms);
  for (;;) {
    const bool last = base::mono_ns() >= deadline_ns;
    Failed failed;
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

support::Result<ProcessStatus> ask_status(const Door& door, bool* silent) {
  alignas(8) Buffer buffer;
  GPUPROF_TRY(packet, call(door, wire::DoorQuery{}, kAnswerMs, buffer, silent));
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
