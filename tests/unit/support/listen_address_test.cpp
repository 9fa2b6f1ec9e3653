// SPDX-License-Identifier: Apache-2.0
#include "support/io/listen_address.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <string.h>

namespace gpuprof::support {
namespace {

std::string message(const std::string& word) {
  const auto parsed = parse_listen_address("--serve", word);
  return parsed ? "" : parsed.error().message;
}

TEST(ListenAddress, TakesAPortAloneAsOneOfThisMachine) {
  const auto address = parse_listen_address("--serve", "6009");
  ASSERT_TRUE(address);
  EXPECT_EQ(address.value().text, "127.0.0.1:6009");
  EXPECT_TRUE(address.value().loopback);
}

TEST(ListenAddress, TakesHostAndPort) {
  for (const char* word : {"127.0.0.1:80", "127.1.2.3:80", "localhost:80", "[::1]:80"}) {
    const auto address = parse_listen_address("--serve", word);
    ASSERT_TRUE(address) << word;
    EXPECT_TRUE(address.value().loopback) << word;
  }
  for (const char* word : {"0.0.0.0:80", "10.1.2.3:80", "[::]:80"}) {
    const auto address = parse_listen_address("--serve", word);
    ASSERT_TRUE(address) << word;
    EXPECT_FALSE(address.value().loopback) << word;
  }
  EXPECT_EQ(parse_listen_address("--serve", "[::1]:6009").value().text, "[::1]:6009");
}

TEST(ListenAddress, SaysWhatIsWrong) {
  for (const char* word : {"", "x", "::1", "::1:6009", ":6009", "[::1]", "[]:1", "[::1]6009"})
    EXPECT_NE(message(word).find("expected HOST:PORT"), std::string::npos) << word;
  for (const char* word : {"0", "65536", "127.0.0.1:0", "127.0.0.1:x",
                           "127.0.0.1:", "[::1]:", "99999999999999999999", "127.0.0.1:-1"})
    EXPECT_FALSE(message(word).empty()) << word;
  EXPECT_NE(message("[127.0.0.1]:80").find("cannot resolve '127.0.0.1'"), std::string::npos);
}

TEST(ListenAddress, APortIsSharedWithNobody) {
  auto address = parse_listen_address("--serve", "127.0.0.1:1").take();
  // Any free port.
  sockaddr_in any{};
  memcpy(&any, &address.socket_address, sizeof any);
  any.sin_port = 0;
  memcpy(&address.socket_address, &any, sizeof any);
  const auto first = listen_at("--serve", address);
  ASSERT_TRUE(first);
  EXPECT_NE(fcntl(first.value().get(), F_GETFD) & FD_CLOEXEC, 0);
  socklen_t bytes = sizeof address.socket_address;
  getsockname(first.value().get(), reinterpret_cast<sockaddr*>(&address.socket_address), &bytes);
  const auto second = listen_at("--serve", address);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another program uses this port"), std::string::npos);
}

}  // namespace
}  // namespace gpuprof::support
