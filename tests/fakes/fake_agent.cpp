// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libgpuprof_inject.so.
//
// Context:  tests
#include "tests/fakes/fake_agent.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "gpuprof/base/clock.hpp"

namespace gpuprof::fakes {

FakeAgent::~FakeAgent() {
  if (base_ != nullptr) ::munmap(base_, config_.segment_bytes);
}

bool FakeAgent::connect(const std::string& variable, const Options& options) {
  const std::string address = variable.substr(0, variable.find(';'));
  const std::size_t key = variable.find("session=");
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, address.data(), address.size());
  if (address[0] == '@') name.sun_path[0] = '\0';
  socket_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() +
                                             (address[0] == '@' ? 0 : 1));
  if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&name), length) != 0) return false;
  return send_hello(
      key == std::string::npos ? 0 : std::strtoull(variable.c_str() + key + 8, nullptr, 16),
      options);
}

bool FakeAgent::join(base::UniqueFd connection, std::uint64_t session, const Options& options) {
  socket_ = std::move(connection);
  return send_hello(session, options);
}

bool FakeAgent::send_hello(std::uint64_t session, const Options& options) {
  ahead_ns_ = options.ahead_ns;
  wire::Hello hello{};
  hello.major = options.major;
  hello.minor = wire::kWireMinor;
  hello.wake_reasons = options.woke;
  hello.pid = static_cast<std::uint32_t>(::getpid());
  hello.ppid = static_cast<std::uint32_t>(::getppid());
  hello.mono_ns = hello.load_ns = base::mono_ns();
  hello.real_ns = base::real_ns();
  hello.process_start_ticks = options.start_ticks;
  hello.exe_bytes = static_cast<std::uint32_t>(options.exe.size());
  hello.command_bytes = static_cast<std::uint32_t>(options.command.size());
  hello.session = session;
  return send(hello, options.exe + options.command) && receive_config();
}

bool FakeAgent::send_bytes(const void* data, std::size_t bytes) {
  return ::send(socket_.get(), data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

bool FakeAgent::receive_config() {
  std::byte packet_bytes[8192];
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))];
  iovec part{packet_bytes, sizeof packet_bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  pollfd wait{socket_.get(), POLLIN, 0};
  if (::poll(&wait, 1, 10'000) != 1) return false;
  const ssize_t bytes = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  wire::Packet packet;
  std::uint16_t major = 0;
  if (bytes <= 0 ||
      !wire::parse_packet(packet_bytes, static_cast<std::size_t>(bytes), &packet, &major))
    return false;
  if (packet.type == wire::MessageType::kRefused) refusal_.assign(packet.tail, packet.tail_bytes);
  const cmsghdr* control = CMSG_FIRSTHDR(&message);
  if (!packet.as(&config_) || control == nullptr) return false;
  step_text_.assign(packet.tail, packet.tail_bytes);
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
  const base::UniqueFd segment(fd);
  return map(fd);
}

bool FakeAgent::map(int fd) {
  void* memory = ::mmap(nullptr, config_.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  base_ = static_cast<std::uint8_t*>(memory);
  const auto* header = static_cast<const wire::SegmentHeader*>(memory);
  directory_ = header->directory.resolve<wire::RingEntry>(base_, config_.segment_bytes);
  stats_ = header->stats.resolve<wire::Stats>(base_, config_.segment_bytes);
  plan_ = header->plan.resolve<wire::Plan>(base_, config_.segment_bytes);
  return header->magic == wire::kSegmentMagic;
}

wire::RingWriter FakeAgent::open_ring(std::uint32_t tid, wire::RingRole role) {
  wire::RingEntry& entry = directory_[next_ring_++];
  entry.tid.store(tid);
  entry.role.store(static_cast<std::uint32_t>(role));
  entry.state.store(static_cast<std::uint32_t>(wire::RingState::kActive));
  auto* header = entry.ring.resolve<wire::RingHeader>(base_, config_.segment_bytes);
  wire::RingWriter ring(header, reinterpret_cast<std::byte*>(header) + wire::kRingDataOffset,
                        entry.capacity_bytes);
  ring.push(wire::RingOpen{tid, static_cast<std::uint32_t>(role), base::mono_ns()}, 0);
  return ring;
}

void FakeAgent::retire(std::uint32_t ring) {
  directory_[ring].state.store(static_cast<std::uint32_t>(wire::RingState::kRetired));
}

wire::AgentState FakeAgent::wanted() const {
  const auto mode = static_cast<wire::AgentState>(plan_->mode.load());
  const std::uint64_t steps = stats_->steps.load();
  if (mode != wire::AgentState::kCounting || steps == 0) return mode;
  return steps - 1 >= plan_->on_step.load() && steps - 1 < plan_->off_step.load()
             ? wire::AgentState::kRecording
             : mode;
}

void FakeAgent::process_messages() {
  std::byte bytes[8192];
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0) stopped_ = true;
    if (got <= 0) break;
    wire::Packet packet;
    std::uint16_t major = 0;
    if (!wire::parse_packet(bytes, static_cast<std::size_t>(got), &packet, &major)) continue;
    wire::Flush flush;
    if (packet.as(&flush)) {
      if (flush.forced != 0) ::poll(nullptr, 0, last_flush_ms_);
      send(wire::FlushDone{flush.token, base::mono_ns()});
    }
    if (packet.type == wire::MessageType::kStop) stopped_ = true;
  }
  const std::uint32_t sequence = plan_->sequence.load();
  const wire::AgentState state = wanted();
  if (sequence == sequence_ && state == state_) return;
  sequence_ = sequence;
  state_ = state;
  stats_->state.store(static_cast<std::uint64_t>(state));
  send(wire::StateReport{static_cast<std::uint32_t>(state), sequence, base::mono_ns() + ahead_ns_,
                         stats_->steps.load(), 1000});
}

bool FakeAgent::serve_until_stopped(int timeout_ms) {
  const std::uint64_t end = base::mono_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
  while (!stopped_ && base::mono_ns() < end) {
    process_messages();
    pollfd wait{socket_.get(), POLLIN, 0};
    ::poll(&wait, 1, 2);
  }
  return stopped_;
}

std::uint64_t FakeAgent::step(wire::RingWriter& ring, wire::StepSource source) {
  const std::uint64_t now = base::mono_ns();
  const std::uint64_t number = stats_->steps.fetch_add(1);
  ring.push(wire::StepMark{now, number, static_cast<std::uint32_t>(source), wire::kStepBegin, 0},
            now);
  process_messages();
  return number;
}

void FakeAgent::send_bye() {
  send(wire::Bye{0, 0, base::mono_ns()});
  socket_.reset();
}

}  // namespace gpuprof::fakes
