// SPDX-License-Identifier: Apache-2.0
//
// Packets of peers that keep to nothing: no descriptor stays behind.
#include "inject/agent/socket/connection.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace gpuprof::agent {
namespace {

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    int ends[2];
    EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    peer_.reset(ends[0]);
    EXPECT_TRUE(connection_.adopt(base::UniqueFd(ends[1])));
  }
  ~ConnectionTest() override { connection_.close(); }

  /// @param passed  The peer's own socket, so many times.
  void send(const std::string& packet, std::size_t passed) {
    iovec part{const_cast<char*>(packet.data()), packet.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char room[CMSG_SPACE(4 * sizeof(int))] = {};
    message.msg_control = room;
    message.msg_controllen = CMSG_SPACE(passed * sizeof(int));
    cmsghdr* control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(passed * sizeof(int));
    const int fd = peer_.get();
    for (std::size_t i = 0; i < passed; ++i)
      std::memcpy(CMSG_DATA(control) + i * sizeof fd, &fd, sizeof fd);
    ASSERT_EQ(static_cast<ssize_t>(packet.size()), ::sendmsg(peer_.get(), &message, 0));
  }
  ReceiveResult receive() {
    wire::Packet packet;
    base::UniqueFd fd;
    return connection_.receive(&packet, &fd);
  }
  /// The number that the next descriptor gets.
  static int lowest_free() {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(fd);
    return fd;
  }

  base::UniqueFd peer_;
  Connection connection_;
};

TEST_F(ConnectionTest, MoreDescriptorsThanOneAreClosed) {
  const int free = lowest_free();
  for (std::size_t count : {1u, 2u, 4u}) {
    send("no message", count);
    EXPECT_EQ(ReceiveResult::kPeerGone, receive());
    EXPECT_EQ(free, lowest_free()) << count;
  }
}

TEST_F(ConnectionTest, ADescriptorWithAnEmptyPacketIsClosed) {
  const int free = lowest_free();
  send("", 1);
  EXPECT_EQ(ReceiveResult::kPeerGone, receive());
  EXPECT_EQ(free, lowest_free());
}

}  // namespace
}  // namespace gpuprof::agent
