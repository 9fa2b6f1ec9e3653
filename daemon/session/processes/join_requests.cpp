// SPDX-License-Identifier: Apache-2.0
//
// Knocks at doors and hands over who answers.
//
// Context:  daemon (ingest thread)
// Owns:     see join_requests.hpp
#include "daemon/session/processes/join_requests.hpp"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "daemon/control/control_errors.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/io/unix_socket.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::session {
namespace {

/// The library answers within a turn of its worker, 100 ms at most. Where its program forks again
/// and again it is there for a few milliseconds at a time.
constexpr std::uint64_t kPatienceNs = 3'000'000'000;
constexpr std::uint64_t kBetweenKnocksNs = 4'000'000;

/// The process that listens there is the one meant, and its user may be told of us.
bool is(const Credentials& who, std::uint32_t pid) {
  const bool user = who.uid == ::getuid() || ::getuid() == 0;
  // 0: of a pid namespace that we do not see into.
  return user && (who.pid == 0 || static_cast<std::uint32_t>(who.pid) == pid);
}

std::string nobody_spoke(std::uint32_t pid) {
  if (support::process_stat(static_cast<pid_t>(pid)).stopped())
    return "it is stopped; let it go on: kill -CONT " + std::to_string(pid);
  return "the library in it did not answer within 3 s: its thread does not get to run, as on a "
         "busy machine, or in a Python 3.12 or later that forks all the time; try again";
}

}  // namespace

Captures::Captures(EventLoop& loop, Joined joined, Failed failed)
    : loop_(loop), joined_(std::move(joined)), failed_(std::move(failed)) {}

void Captures::begin(std::uint32_t pid, const std::string& door, std::uint32_t flags,
                     std::uint32_t program, std::uint64_t session, const std::string& address,
                     std::uint64_t now_ns) {
  Waiting& one = waiting_.emplace_back(
      Waiting{pid, program != 0 ? program : support::program_mark(static_cast<pid_t>(pid)), now_ns,
              now_ns, door, address,
              wire::DoorJoin{session, flags, static_cast<std::uint32_t>(address.size())}, nullptr});
  knock(one, now_ns);
}

/// A worker that a fork of its program has put to sleep is at the door again after a moment.
void Captures::knock(Waiting& one, std::uint64_t now_ns) {
  one.again = false;
  one.knocked_ns = now_ns;
  base::UniqueFd socket = support::connect_socket(one.door, SOCK_NONBLOCK);
  if (!socket) {
    return knock_again_or_fail(one, now_ns, "nobody answers at its door " + api::why_closed(errno));
  }
  one.connection = std::make_unique<Connection>(std::move(socket), loop_);
  if (!is(one.connection->credentials(), one.pid))
    return fail(one, "another process listens at its door");
  one.connection->send(one.request, one.address);
  one.connection->watch([this, &one] { receive_from(one); });
}

void Captures::knock_again_or_fail(Waiting& one, std::uint64_t now_ns, const std::string& why) {
  if (std::string gone = api::why_gone(one.pid, one.program); !gone.empty()) return fail(one, gone);
  one.again = now_ns - one.since_ns < kPatienceNs;
  if (!one.again) fail(one, why);
}

void Captures::fail(Waiting& one, const std::string& why) {
  one.done = true;
  failed_(one.pid, "process " + std::to_string(one.pid) + " cannot be recorded: " + why);
}

void Captures::receive_from(Waiting& one) {
  if (one.done || one.again) return;
  wire::Packet packet;
  std::uint16_t major = 0;
  switch (one.connection->receive(&packet, &major)) {
    case Connection::Received::kNothing:
      return;
    case Connection::Received::kMessage:
      break;
    case Connection::Received::kBroken:
      return fail(one, "the library in it is of another version of gpuprof");
    case Connection::Received::kClosed:
      return knock_again_or_fail(one, base::mono_ns(), "the library in it closed the door");
  }
  wire::Hello hello;
  if (packet.type == wire::MessageType::kRefused)
    return fail(one, std::string(packet.tail, packet.tail_bytes));
  if (major != wire::kWireMajor || !packet.as(&hello))
    return fail(one, "the library in it is of another version of gpuprof");
  one.done = true;
  const Credentials who{static_cast<pid_t>(one.pid), one.connection->credentials().uid};
  joined_(std::move(one.connection), hello, packet, who);
}

void Captures::tick(std::uint64_t now_ns) {
  for (Waiting& one : waiting_) {
    if (one.again) one.connection.reset();
    if (!one.done && one.again && now_ns - one.knocked_ns >= kBetweenKnocksNs) {
      knock(one, now_ns);
    }
    if (!one.done && !one.again && now_ns - one.since_ns > kPatienceNs)
      fail(one, nobody_spoke(one.pid));
  }
  waiting_.remove_if([](const Waiting& one) { return one.done; });
}

}  // namespace gpuprof::session
