// SPDX-License-Identifier: Apache-2.0
//
// What a daemon tells the command line, and what a process answers at its control socket: any
// packets, read by the shipped client, shown in the shipped words.
//
// Context:  tests
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "cli/output/summary_text.hpp"
#include "daemon/client/client.hpp"
#include "daemon/control/control_sockets.hpp"
#include "gpuprof/wire/control_socket.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/packets.hpp"

namespace {

using namespace gpuprof;
using test::FuzzInput;
using test::require;

constexpr wire::MessageType kToClient[] = {
    wire::MessageType::kSessionReady, wire::MessageType::kProgress, wire::MessageType::kSummary,
    wire::MessageType::kFailure,      wire::MessageType::kStatus,   wire::MessageType::kRefused};
constexpr wire::MessageType kAtControlSocket[] = {
    wire::MessageType::kStatusReply, wire::MessageType::kRequestDone, wire::MessageType::kRefused,
    wire::MessageType::kHello};

void harmless(const std::string& lines) {
  for (const char c : lines)
    require(c == '\n' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f),
            "a terminal would obey the summary");
}

void show(const client::DaemonMessage& event) {
  using Kind = client::DaemonMessage::Kind;
  if (event.kind == Kind::kSummary) {
    harmless(cli::summary_text(event.summary));
    harmless(cli::failures_text(event.summary));
    const std::string json = recording::to_json(event.summary);
    const auto again = recording::from_json(json);
    require(again.ok() && recording::to_json(again.value()) == json,
            "a summary changes on its way");
  }
  if (event.kind == Kind::kClosed || event.kind == Kind::kFailure)
    require(event.kind == Kind::kFailure || !event.text.empty(), "no sentence");
}

/// All that a daemon sends, up to its end.
void daemon_says(FuzzInput& in) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0,
          "socketpair");
  base::UniqueFd daemon(ends[0]);
  client::Client client{base::UniqueFd(ends[1])};
  for (int i = 0; i < 16 && !in.empty(); ++i) {
    const std::string packet = test::packet(in, kToClient);
    if (::send(daemon.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    if (!packet.empty()) show(client.receive(0));
  }
  daemon.reset();
  for (int i = 0;; ++i) {
    const client::DaemonMessage event = client.receive(0);
    show(event);
    if (event.kind == client::DaemonMessage::Kind::kClosed) break;
    require(i < 64, "a client that never ends");
  }
}

/// A process at its control socket, on a thread of its own: answers each caller with what is laid
/// out.
class FakeProcess {
 public:
  FakeProcess() : path_("@gpuprof-fuzz-door-" + std::to_string(::getpid())) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path + 1, path_.data() + 1, path_.size() - 1);
    listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
    require(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&name), bytes) == 0 &&
                ::listen(listener_.get(), 8) == 0,
            "no control socket");
    std::thread([this] { serve(); }).detach();
  }
  void lay_out(std::string answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  const std::string& path() const { return path_; }

 private:
  void serve() {
    for (;;) {
      const base::UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char request[512];
      if (!peer || ::recv(peer.get(), request, sizeof request, 0) <= 0) continue;
      const std::lock_guard lock(mutex_);
      if (!answer_.empty()) ::send(peer.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
    }
  }

  std::string path_, answer_;
  base::UniqueFd listener_;
  std::mutex mutex_;
};

void process_answers(FuzzInput& in) {
  static auto* process = new FakeProcess;
  process->lay_out(test::packet(in, kAtControlSocket));
  const control::ControlSocket control_socket{static_cast<std::uint32_t>(::getpid()),
                                              process->path()};
  if (const auto status = control::request_status(control_socket); status.ok())
    require(!status.value().state.empty(), "a process without a state");
  else
    require(!status.error().message.empty(), "no sentence");
  (void)control::request_stop(control_socket);
}

}  // namespace

// One byte chooses who talks.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput in(data, size);
  if (in.pick(4) == 0)
    process_answers(in);
  else
    daemon_says(in);
  return 0;
}
