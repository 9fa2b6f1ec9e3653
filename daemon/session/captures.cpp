// SPDX-License-Identifier: Apache-2.0
//
// Knocks at doors and hands over who answers.
//
// Context:  daemon (ingest thread)
// Owns:     see captures.hpp
#include "daemon/session/captures.hpp"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "support/unix_socket.hpp"

namespace gpuprof::session {
namespace {

/// The library answers within a turn of its worker, 100 ms at most.
constexpr std::uint64_t kPatienceNs = 3'000'000'000;

/// The process that listens there is the one meant, and its user may be told of us.
bool is(const Credentials& who, std::uint32_t pid) {
  const bool user = who.uid == ::getuid() || ::getuid() == 0;
  // 0: of a pid namespace that we do not see into.
  return user && (who.pid == 0 || static_cast<std::uint32_t>(who.pid) == pid);
}

}  // namespace

Captures::Captures(EventLoop& loop, Joined joined, Failed failed)
    : loop_(loop), joined_(std::move(joined)), failed_(std::move(failed)) {}

void Captures::begin(std::uint32_t pid, const std::string& door, std::uint32_t flags,
                     std::uint64_t session, const std::string& address, std::uint64_t now_ns) {
  Waiting& one = waiting_.emplace_back(Waiting{pid, now_ns, nullptr});
  base::UniqueFd socket = support::connect_socket(door, SOCK_NONBLOCK);
  if (!socket)
    return fail(one, std::string("nobody answers at its door (") + std::strerror(errno) + ")");
  one.connection = std::make_unique<Connection>(std::move(socket), loop_);
  if (!is(one.connection->credentials(), pid))
    return fail(one, "another process listens at its door");
  one.connection->send(wire::DoorJoin{session, flags, static_cast<std::uint32_t>(address.size())},
                       address);
  one.connection->watch([this, &one] { receive_from(one); });
}

void Captures::fail(Waiting& one, const std::string& why) {
  one.done = true;
  failed_(one.pid, "process " + std::to_string(one.pid) + " cannot be recorded: " + why);
}

void Captures::receive_from(Waiting& one) {
  if (one.done) return;
  wire::Packet packet;
  std::uint16_t major = 0;
  switch (one.connection->receive(&packet, &major)) {
    case Connection::Received::kNothing:
      return;
    case Connection::Received::kMessage:
      break;
    default:
      return fail(one, "the library in it closed the door");
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
  for (Waiting& one : waiting_)
    if (!one.done && now_ns - one.since_ns > kPatienceNs)
      fail(one, "the library in it did not answer within 3 s; is the process stopped?");
  waiting_.remove_if([](const Waiting& one) { return one.done; });
}

}  // namespace gpuprof::session
