// SPDX-License-Identifier: Apache-2.0
//
// Connects to control sockets and hands over who responds.
//
// Context:  daemon (ingest thread)
#include "daemon/session/processes/join_requests.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "daemon/control/control_errors.hpp"
#include "daemon/messages/control.hpp"
#include "daemon/messages/process_join.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/io/unix_socket.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::session {
namespace {

/// The library answers within a turn of its worker, 100 ms at most. Where its program forks again
/// and again it is there for a few milliseconds at a time.
constexpr std::uint64_t kJoinTimeoutNs = 3'000'000'000;
constexpr std::uint64_t kRetryPeriodNs = 4'000'000;

/// The process that listens there is the one meant, and its user may learn of us.
bool is(const Credentials& who, std::uint32_t pid) {
  const bool user = who.uid == ::getuid() || ::getuid() == 0;
  // 0: of a pid namespace that we do not see into.
  return user && (who.pid == 0 || static_cast<std::uint32_t>(who.pid) == pid);
}

std::string no_reply_message(std::uint32_t pid) {
  if (support::process_stat(static_cast<pid_t>(pid)).is_stopped_or_traced())
    return fmt::format(messages::control::kStopped, pid);
  return messages::process_join::kNoReply;
}

}  // namespace

JoinRequests::JoinRequests(EventLoop& loop, Joined joined, Failed failed)
    : loop_(loop), joined_(std::move(joined)), failed_(std::move(failed)) {}

void JoinRequests::begin(std::uint32_t pid, const std::string& control_socket, std::uint32_t flags,
                         std::uint32_t program, std::uint64_t session, const std::string& address,
                         std::uint64_t now_ns) {
  PendingJoin& one = waiting_.emplace_back(PendingJoin{
      pid, program != 0 ? program : support::exec_fingerprint(static_cast<pid_t>(pid)), now_ns,
      now_ns, control_socket, address,
      wire::JoinRequest{session, flags, static_cast<std::uint32_t>(address.size())}, nullptr});
  connect(one, now_ns);
}

/// A worker that a fork of its program has put to sleep is at the control socket again after a
/// moment.
void JoinRequests::connect(PendingJoin& one, std::uint64_t now_ns) {
  one.again = false;
  one.tried_ns = now_ns;
  base::UniqueFd socket = support::connect_unix_socket(one.control_socket, SOCK_NONBLOCK);
  if (!socket) {
    return reconnect_or_fail(
        one, now_ns,
        fmt::format(messages::process_join::kNotAccepting, control::not_listening_reason(errno)));
  }
  one.connection = std::make_unique<Connection>(std::move(socket), loop_);
  if (!is(one.connection->credentials(), one.pid))
    return fail(one, messages::process_join::kOtherListener);
  one.connection->send(one.request, one.address);
  one.connection->watch([this, &one] { receive_from(one); });
}

void JoinRequests::reconnect_or_fail(PendingJoin& one, std::uint64_t now_ns,
                                     const std::string& why) {
  if (std::string gone = control::process_gone_reason(one.pid, one.program); !gone.empty())
    return fail(one, gone);
  one.again = now_ns - one.since_ns < kJoinTimeoutNs;
  if (!one.again) fail(one, why);
}

void JoinRequests::fail(PendingJoin& one, const std::string& why) {
  one.done = true;
  failed_(one.pid, fmt::format(messages::process_join::kCannotRecord, one.pid, why));
}

void JoinRequests::receive_from(PendingJoin& one) {
  if (one.done || one.again) return;
  wire::Packet packet;
  std::uint16_t major = 0;
  switch (one.connection->receive(&packet, &major)) {
    case Connection::Received::kNothing:
      return;
    case Connection::Received::kMessage:
      break;
    case Connection::Received::kMalformed:
      return fail(one, messages::process_join::kOtherVersion);
    case Connection::Received::kClosed:
      return reconnect_or_fail(one, base::mono_ns(), messages::process_join::kSocketClosed);
  }
  wire::Hello hello;
  if (packet.type == wire::MessageType::kRefused)
    return fail(one, std::string(packet.tail, packet.tail_bytes));
  if (major != wire::kWireMajor || !packet.as(&hello))
    return fail(one, messages::process_join::kOtherVersion);
  one.done = true;
  const Credentials who{static_cast<pid_t>(one.pid), one.connection->credentials().uid};
  joined_(std::move(one.connection), hello, packet, who);
}

void JoinRequests::tick(std::uint64_t now_ns) {
  for (PendingJoin& one : waiting_) {
    if (one.again) one.connection.reset();
    if (!one.done && one.again && now_ns - one.tried_ns >= kRetryPeriodNs) {
      connect(one, now_ns);
    }
    if (!one.done && !one.again && now_ns - one.since_ns > kJoinTimeoutNs)
      fail(one, no_reply_message(one.pid));
  }
  waiting_.remove_if([](const PendingJoin& one) { return one.done; });
}

}  // namespace gpuprof::session
