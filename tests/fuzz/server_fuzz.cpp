// SPDX-License-Identifier: Apache-2.0
//
// A daemon among hostile peers: strangers at its socket, agents that break every rule, a client
// that says anything, processes at control sockets that answer anything. It serves the next one all
// the same.
//
// Context:  tests
// Not here: what lies in ring buffers (decoder_fuzz.cpp)
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/session/server.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/control_socket.hpp"
#include "recording/session/session_options.hpp"
#include "support/io/unix_socket.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/packets.hpp"

namespace {

using namespace gpuprof;
using test::FuzzInput;
using test::require;
using wire::MessageType;

constexpr MessageType kFromAgent[] = {
    MessageType::kHello,       MessageType::kModule,       MessageType::kModuleUnloaded,
    MessageType::kThread,      MessageType::kNotice,       MessageType::kDomainName,
    MessageType::kStateReport, MessageType::kFlushDone,    MessageType::kBye,
    MessageType::kFact,        MessageType::kForwardedStop};
constexpr MessageType kFromClient[] = {MessageType::kCommandStarted, MessageType::kQueryStatus,
                                       MessageType::kCapture, MessageType::kCommandEnded,
                                       MessageType::kEndSession};
constexpr MessageType kFromStranger[] = {MessageType::kHello, MessageType::kOpenSession,
                                         MessageType::kCapture, MessageType::kQueryStatus};
constexpr MessageType kFromControlSocket[] = {MessageType::kHello, MessageType::kRefused,
                                              MessageType::kRequestDone};

template <typename M>
std::string message(const M& body, std::string_view tail) {
  return test::framed(M::kType, {reinterpret_cast<const char*>(&body), sizeof body}, tail);
}

/// The daemon and all who talk to it; a folder for its files.
class World {
 public:
  World() {
    char name[] = "/tmp/gpuprof-fuzz-XXXXXX";
    folder_ = ::mkdtemp(name);
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0,
            "socketpair");
    client_.reset(ends[0]);
    session::Server::Setup setup;
    setup.address = "@gpuprof-fuzz-" + std::to_string(::getpid());
    setup.control.reset(ends[1]);
    setup.host = "host";
    address_ = setup.address;
    auto made = session::Server::create(std::move(setup));
    require(made.ok(), "no daemon");
    server_ = made.take();
  }
  ~World() {
    server_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// A session, as a client of ours opens it.
  void open(FuzzInput& in) {
    recording::SessionOptions options;
    options.output = folder_ + "/out";
    options.running_processes = in.odd();
    options.schedule.given = in.odd();
    options.schedule.active = {recording::Extent::Unit::kTime, 1'000'000};
    options.step = in.odd() ? "none" : "auto";
    options.buffer_size_bytes = 1;  // as small as can be
    const std::string text = recording::to_text(options);
    send(client_.get(),
         message(wire::OpenSession{static_cast<std::uint32_t>(text.size()), 0}, text));
    turn();
    char packet[4096];
    const ssize_t got = ::recv(client_.get(), packet, sizeof packet, MSG_DONTWAIT);
    wire::Packet answer;
    std::uint16_t major = 0;
    wire::SessionReady ready;
    require(got > 0 &&
                wire::parse_packet(reinterpret_cast<std::byte*>(packet),
                                   static_cast<std::size_t>(got), &answer, &major) &&
                answer.as(&ready),
            "no session");
    key_ = ready.session;
  }

  void turn() { running_ = server_->run_once(0); }
  bool running() const { return running_; }
  int client() const { return client_.get(); }

  /// Somebody new at the socket.
  void connect() {
    if (peers_.size() >= 12) peers_.erase(peers_.begin());
    base::UniqueFd socket = support::connect_unix_socket(address_, SOCK_NONBLOCK);
    if (socket) peers_.push_back(std::move(socket));
  }
  int peer(FuzzInput& in) {
    if (peers_.empty()) connect();
    return peers_.empty() ? -1 : peers_[in.pick(peers_.size())].get();
  }
  void leave(FuzzInput& in) {
    if (!peers_.empty())
      peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(in.pick(peers_.size())));
  }

  /// Of a process that keeps to the rules so far.
  std::string hello(FuzzInput& in) const {
    wire::Hello hello{};
    hello.major = wire::kWireMajor, hello.minor = wire::kWireMinor;
    hello.wake_reasons = in.byte() & 63;
    hello.pid = hello.ppid = static_cast<std::uint32_t>(::getpid());
    hello.process_start_ticks = in.pick(3);
    hello.session = in.byte() < 8 ? in.byte() : key_;
    hello.mono_ns = in.odd() ? in.number<std::uint64_t>() : base::mono_ns();
    hello.load_ns = in.odd() ? in.number<std::uint64_t>() : hello.mono_ns;
    hello.real_ns = in.odd() ? in.number<std::uint64_t>() : base::real_ns();
    const std::string_view tail = in.text();
    hello.exe_bytes =
        in.odd() ? in.number<std::uint32_t>() : static_cast<std::uint32_t>(tail.size() / 2);
    hello.command_bytes = in.odd() ? in.number<std::uint32_t>() : 9;
    return message(hello, tail);
  }

  /// A running process with a control socket that answers what it likes.
  void capture(FuzzInput& in) {
    const std::string path = address_ + "-door";
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path + 1, path.data() + 1, path.size() - 1);
    base::UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&name), bytes) != 0 ||
        ::listen(listener.get(), 4) != 0)
      return;
    const wire::Capture asked{static_cast<std::uint32_t>(::getpid()), in.byte(),
                              static_cast<std::uint32_t>(path.size()), 0};
    send(client_.get(), message(asked, path));
    turn();
    base::UniqueFd peer(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer) return;
    send(peer.get(), in.odd() ? hello(in) : test::packet(in, kFromControlSocket));
    turn();
    if (in.odd()) peers_.push_back(std::move(peer));
  }

  static void send(int socket, const std::string& packet) {
    (void)::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  /// Somebody honest is served, whatever came before.
  void check_served() {
    peers_.clear();
    for (int i = 0; i < 4; ++i) turn();
    const base::UniqueFd socket = support::connect_unix_socket(address_, SOCK_NONBLOCK);
    require(static_cast<bool>(socket), "the daemon takes nobody any more");
    FuzzInput none(nullptr, 0);
    send(socket.get(), hello(none));
    for (int i = 0; i < 4; ++i) turn();
    char packet[4096];
    require(::recv(socket.get(), packet, sizeof packet, MSG_DONTWAIT) > 0,
            "the daemon answers nobody any more");
  }

 private:
  std::string folder_, address_;
  base::UniqueFd client_;
  std::unique_ptr<session::Server> server_;
  std::vector<base::UniqueFd> peers_;
  std::uint64_t key_ = 0;
  bool running_ = true;
};

void one_thing(FuzzInput& in, World& world) {
  switch (in.pick(8)) {
    case 0:
      return world.connect();
    case 1:
      return world.send(world.peer(in), world.hello(in));
    case 2:
      return world.send(world.client(), test::packet(in, kFromClient));
    case 3:
      return world.send(world.peer(in), test::packet(in, kFromStranger));
    case 4:
      return in.pick(8) == 0 ? world.capture(in) : world.leave(in);
    default:
      return world.send(world.peer(in), test::packet(in, kFromAgent));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput in(data, size);
  World world;
  world.open(in);
  for (int things = 0; things < 40 && !in.empty() && world.running(); ++things) {
    one_thing(in, world);
    if (in.odd()) world.turn();
  }
  for (int i = 0; i < 3 && world.running(); ++i) world.turn();
  if (world.running()) world.check_served();
  return 0;
}
