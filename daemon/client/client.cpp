// SPDX-License-Identifier: Apache-2.0
//
// The CLI's end of the socket to a daemon.
//
// Context:  cli
#include "daemon/client/client.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "daemon/messages/client.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/control_socket.hpp"

namespace gpuprof::client {
namespace {

constexpr std::size_t kMaxSummaryBytes = 64 << 20;

std::string tail_text(const wire::Packet& packet, std::uint32_t bytes) {
  return {packet.tail, std::min<std::size_t>(bytes, packet.tail_bytes)};
}

}  // namespace

Client::Client(base::UniqueFd socket) : socket_(std::move(socket)) {
  // A stuck daemon must not hold us for ever in a send.
  const timeval limit{2, 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

template <typename M>
bool Client::send(const M& body, const std::string& tail) {
  std::array<std::byte, wire::kMaxPacketBytes> packet;
  const std::size_t bytes =
      wire::encode_message(body, tail.data(), tail.size(), packet.data(), packet.size());
  if (bytes == 0) return false;
  ssize_t sent = 0;
  do {
    sent = ::send(socket_.get(), packet.data(), bytes, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

support::Result<SessionInfo> Client::open(const recording::SessionOptions& options,
                                          std::uint64_t timeout_ns) {
  const std::string text = recording::to_text(options);
  if (!send(wire::OpenSession{static_cast<std::uint32_t>(text.size()), 0}, text)) {
    // A daemon that refuses us closes at once; its sentence may still be there.
    const DaemonMessage last = receive(0);
    if (last.kind == DaemonMessage::Kind::kFailure) return support::error(last.text);
    return support::error(kEndedUnexpectedly);
  }
  const std::uint64_t deadline = base::mono_ns() + timeout_ns;
  while (base::mono_ns() < deadline) {
    const DaemonMessage event = receive(deadline - base::mono_ns());
    if (ready_.session != 0) return ready_;
    if (event.kind == DaemonMessage::Kind::kFailure || event.kind == DaemonMessage::Kind::kClosed) {
      return support::error(event.text);
    }
  }
  return support::error(messages::client::kNoResponse);
}

bool Client::command_started(std::uint32_t pid) { return send(wire::CommandStarted{pid, 0}, {}); }
bool Client::command_ended(int wait_status) { return send(wire::CommandEnded{wait_status, 0}, {}); }
bool Client::join_process(std::uint32_t pid, const std::string& control_socket, bool named,
                          bool then_detach, std::uint32_t program) {
  const std::uint32_t flags =
      (named ? wire::kJoinNamed : 0) | (then_detach ? wire::kJoinThenDetach : 0);
  return send(wire::Capture{pid, flags, static_cast<std::uint32_t>(control_socket.size()), program},
              control_socket);
}

bool Client::joins_complete() { return send(wire::Capture{0, 0, 0, 0}, {}); }

bool Client::end_session() { return send(wire::EndSession{0}, {}); }

DaemonMessage Client::closed(const std::string& why) {
  DaemonMessage event;
  event.kind = DaemonMessage::Kind::kClosed;
  event.text = why;
  return event;
}

DaemonMessage Client::receive(std::uint64_t timeout_ns) {
  pollfd waiting{socket_.get(), POLLIN, 0};
  const auto milliseconds =
      static_cast<int>(std::min<std::uint64_t>(timeout_ns / 1'000'000, 60'000));
  const int ready = poll(&waiting, 1, milliseconds);
  return ready > 0 ? receive_one() : DaemonMessage{};
}

DaemonMessage Client::receive_one() {
  alignas(16) std::array<std::byte, wire::kMaxPacketBytes> buffer;
  ssize_t bytes = 0;
  int resets = 0;
  do {
    bytes = recv(socket_.get(), buffer.data(), buffer.size(), MSG_TRUNC | MSG_DONTWAIT);
    // From a daemon that closed before it read everything; what it said last comes after this
    // error.
  } while (bytes < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
  if (bytes < 0 && errno == EAGAIN) return {};
  if (bytes <= 0) return closed(kEndedUnexpectedly);
  wire::Packet packet;
  std::uint16_t major = 0;
  if (static_cast<std::size_t>(bytes) > buffer.size() ||
      !wire::parse_packet(buffer.data(), static_cast<std::size_t>(bytes), &packet, &major)) {
    return closed(messages::client::kInvalidMessage);
  }
  if (major != wire::kWireMajor) {
    return closed(messages::client::kOtherVersion);
  }
  DaemonMessage event;
  if (wire::SessionReady ready; packet.as(&ready)) {
    ready_ = SessionInfo{ready.session, ready.daemon_pid, tail_text(packet, ready.address_bytes)};
  } else if (wire::Progress progress; packet.as(&progress)) {
    event.kind = DaemonMessage::Kind::kProgress;
    event.done = progress.done;
    event.total = progress.total;
    event.text = tail_text(packet, progress.text_bytes);
  } else if (wire::Refused refused; packet.as(&refused)) {
    event.kind = DaemonMessage::Kind::kFailure;
    event.text = tail_text(packet, refused.text_bytes);
  } else if (wire::Failure failure; packet.as(&failure)) {
    event.kind = DaemonMessage::Kind::kFailure;
    event.text = tail_text(packet, failure.text_bytes);
  } else if (wire::Summary part; packet.as(&part)) {
    summary_text_ += tail_text(packet, part.text_bytes);
    if (summary_text_.size() > kMaxSummaryBytes) return closed(messages::client::kSummaryTooLong);
    if (part.more != 0) return event;
    auto summary = recording::from_json(std::exchange(summary_text_, {}));
    if (!summary)
      return closed(fmt::format(messages::client::kCannotReadSummary, summary.error().message));
    event.kind = DaemonMessage::Kind::kSummary;
    event.summary = summary.take();
  }
  return event;
}

}  // namespace gpuprof::client
