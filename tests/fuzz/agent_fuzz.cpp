// SPDX-License-Identifier: Apache-2.0
//
// What the library in a process reads from others: connects to its control socket, a daemon's
// settings and requests, the segment it is handed, the variable in its environment. The process
// lives on.
//
// Context:  tests
// Not here: what a plan switches on (tests of the component); here it stays off
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "daemon/ingest/decode/shared_segment.hpp"
#include "inject/agent/core.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/packets.hpp"

namespace {

using namespace gpuprof;
using namespace gpuprof::agent;
using test::FuzzInput;
using test::require;
using wire::MessageType;

constexpr MessageType kKnocks[] = {MessageType::kStatusRequest, MessageType::kJoinRequest,
                                   MessageType::kStopRequest, MessageType::kDetachRequest,
                                   MessageType::kHello};
constexpr MessageType kFromDaemon[] = {MessageType::kPlanChanged, MessageType::kFlush,
                                       MessageType::kConfig, MessageType::kStop,
                                       MessageType::kRefused};

void environment(FuzzInput& in) {
  const std::string text(in.rest());
  const auto exact = test::bytes_of_exactly({text.c_str(), std::strlen(text.c_str()) + 1});
  Address address;
  if (!parse_address(exact.get(), &address)) return;
  require(address.socket_bytes <= sizeof address.socket, "an address beyond its room");
  require(std::memchr(address.name, '\0', sizeof address.name) != nullptr, "a name without end");
}

/// Ends of the one connection of this input; what is sent here waits there.
base::UniqueFd connect_to() {
  sockaddr_un name{};
  socklen_t bytes = sizeof name;
  require(
      ::getsockname(g_agent.control_socket.fd(), reinterpret_cast<sockaddr*>(&name), &bytes) == 0,
      "name");
  // The socket was bound under a name that it lost when somebody answered there.
  std::string path(name.sun_path, bytes - offsetof(sockaddr_un, sun_path));
  const std::size_t ending = path.find(wire::kNotListeningSuffix);
  if (path[0] == '/' && ending != std::string::npos) {
    std::memset(name.sun_path, 0, sizeof name.sun_path);
    std::memcpy(name.sun_path, path.data(), ending);
    bytes = sizeof name;
  }
  base::UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  require(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), bytes) == 0,
          "nobody listens at the control socket");
  return socket;
}

/// Some descriptors with it, as a peer may send.
void send(int socket, const std::string& packet, int passed, int count) {
  iovec part{const_cast<char*>(packet.data()), packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char room[CMSG_SPACE(4 * sizeof(int))] = {};
  if (count != 0) {
    message.msg_control = room;
    message.msg_controllen = CMSG_SPACE(static_cast<std::size_t>(count) * sizeof(int));
    cmsghdr* control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(static_cast<std::size_t>(count) * sizeof(int));
    for (int i = 0; i < count; ++i)
      std::memcpy(CMSG_DATA(control) + static_cast<std::size_t>(i) * sizeof(int), &passed,
                  sizeof(int));
  }
  (void)::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// A segment as a daemon makes it, but for some of what the library finds its parts by.
base::UniqueFd segment(FuzzInput& in, std::uint64_t* bytes) {
  const auto host = ingest::SharedSegment::create({1, 4}, 1).take();
  *bytes = host.total_bytes();
  void* memory = ::mmap(nullptr, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, host.fd(), 0);
  auto* header = static_cast<wire::SegmentHeader*>(memory);
  for (std::size_t changes = in.pick(4); changes != 0; --changes) {
    const std::uint64_t value = in.odd() ? in.number<std::uint64_t>() : in.number<std::int16_t>();
    wire::RingEntry& ring = host.entry(static_cast<std::uint32_t>(in.pick(5)));
    std::uint64_t* const fields[] = {
        &header->magic,
        &header->total_bytes,
        reinterpret_cast<std::uint64_t*>(&header->ring_count),  // and large_rings
        reinterpret_cast<std::uint64_t*>(&header->plan.distance),
        reinterpret_cast<std::uint64_t*>(&header->stats.distance),
        reinterpret_cast<std::uint64_t*>(&header->directory.distance),
        reinterpret_cast<std::uint64_t*>(&ring.ring.distance),
        &ring.capacity_bytes,
    };
    std::uint64_t& field = *fields[in.pick(8)];
    field = in.odd() ? value : field + value;
  }
  base::UniqueFd fd(::dup(host.fd()));
  const std::uint16_t shorter = in.number<std::uint16_t>();
  if (in.byte() >= 250) {  // one that is not as long as it says
    fd.reset(::memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    require(::write(fd.get(), memory, shorter) == shorter, "memfd");
    if (in.odd()) ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK);
  }
  ::munmap(memory, *bytes);
  return fd;
}

std::string config(FuzzInput& in, std::uint64_t segment_bytes) {
  wire::Config settings{};
  const std::string_view some = in.bytes(sizeof settings);
  std::memcpy(&settings, some.data(), some.size());
  settings.sampler %= 4;
  if (in.byte() < 240) settings.segment_bytes = segment_bytes;
  std::string text(in.bytes(in.odd() ? in.byte() : in.number<std::uint16_t>() % 2048));
  if (in.byte() < 240) settings.step_text_bytes = static_cast<std::uint32_t>(text.size());
  return test::framed(MessageType::kConfig,
                      {reinterpret_cast<const char*>(&settings), sizeof settings}, text);
}

std::string join(FuzzInput& in) {
  wire::JoinRequest request{in.number<std::uint64_t>(), in.byte(), 0};
  std::string address = in.odd() ? "@nobody-there;session=1;name=fuzz" : std::string(in.text());
  request.text_bytes = static_cast<std::uint32_t>(address.size());
  return test::framed(MessageType::kJoinRequest,
                      {reinterpret_cast<const char*>(&request), sizeof request}, address);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

[[noreturn]] void tell_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* one = ::readdir(folder)) {
    char text[256] = "";
    (void)!::readlinkat(::dirfd(folder), one->d_name, text, sizeof text - 1);
    std::fprintf(stderr, "%s: %s\n", one->d_name, text);
  }
  require(false, "descriptors are left open");
  std::abort();
}

/// A whole session at the control socket: join, settings, requests, the daemon's end.
void session(FuzzInput& in) {
  const base::UniqueFd socket = connect_to();
  const bool honest = in.byte() < 200;
  send(socket.get(), honest ? join(in) : test::packet(in, kKnocks), socket.get(),
       static_cast<int>(in.pick(8) == 0 ? in.pick(4) : 0));
  const NextAction next = serve_control_request();
  if (next == NextAction::kDetach) return reply_detached();
  if (next != NextAction::kServeJoined) return;
  std::uint64_t bytes = 0;
  const base::UniqueFd memory = segment(in, &bytes);
  send(socket.get(), in.byte() < 230 ? config(in, bytes) : test::packet(in, kFromDaemon),
       memory.get(), 1 + static_cast<int>(in.pick(8) == 0 ? in.pick(3) : 0));
  for (int i = 0; i < 8 && !in.empty(); ++i)
    send(socket.get(), test::packet(in, kFromDaemon), memory.get(),
         static_cast<int>(in.pick(8) == 0 ? in.pick(4) : 0));
  ::shutdown(socket.get(), SHUT_WR);
  if (begin_session(next) == NextAction::kContinue) run_session();
  require(!g_agent.components_configured, "the library is still in a session that is over");
}

void open_control_socket() {
  g_agent.private_fd_table = false;
  g_agent.join_ns = 0;
  g_agent.detach_after_session = g_agent.detach_reply_pending = false;
  require(g_agent.control_socket.open(0), "no control socket");
}

}  // namespace

// One byte chooses what is read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int at_exit = std::atexit([] { unlink_control_socket(); });
  FuzzInput in(data, size);
  if (at_exit != 0 || in.pick(8) == 0) return environment(in), 0;
  open_control_socket();
  static const std::size_t before = open_descriptors();
  session(in);
  g_agent.control_connection.close();
  g_agent.connection.close();
  if (open_descriptors() > before + 16) tell_descriptors();
  return 0;
}
