// SPDX-License-Identifier: Apache-2.0
//
// A daemon that does not read: nothing is lost before the room is full, and what is lost is
// counted.
#include "inject/agent/socket/send_queue.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <vector>

#include "inject/hot/state.hpp"

namespace gpuprof::agent {
namespace {

class MailTest : public testing::Test {
 protected:
  MailTest() {
    int ends[2];
    EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    peer_.reset(ends[0]);
    EXPECT_TRUE(connection_.adopt(base::UniqueFd(ends[1])));
    hot::g_state.stats = stats_.get();
  }
  ~MailTest() override {
    connection_.close();
    hot::g_state.stats = nullptr;
  }

  void add(std::uint64_t token) {
    mail_->enqueue(connection_, wire::FlushDone{token, 0}, tail_.data(), 0);
  }
  /// Until the socket is full and `more` wait. Returns how many were added.
  std::uint64_t fill(std::uint64_t more) {
    std::uint64_t added = 0;
    while (unsent() < more) add(added++);
    return added;
  }
  /// Tokens of what the peer finds in its socket.
  std::vector<std::uint64_t> read() {
    std::vector<std::uint64_t> tokens;
    std::byte bytes[1024];
    for (ssize_t got; (got = ::recv(peer_.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
      wire::Packet packet;
      wire::FlushDone done{};
      std::uint16_t major = 0;
      EXPECT_TRUE(wire::parse_packet(bytes, static_cast<std::size_t>(got), &packet, &major));
      EXPECT_TRUE(packet.as(&done));
      tokens.push_back(done.token);
    }
    return tokens;
  }
  std::uint64_t unsent() const {
    return stats_->counters[static_cast<std::uint32_t>(wire::Counter::kMessagesUnsent)];
  }
  static std::vector<std::uint64_t> up_to(std::uint64_t count) {
    std::vector<std::uint64_t> tokens;
    for (std::uint64_t i = 0; i < count; ++i) tokens.push_back(i);
    return tokens;
  }
  void append(std::vector<std::uint64_t>* to) {
    for (const std::uint64_t token : read()) to->push_back(token);
  }

  base::UniqueFd peer_;
  Connection connection_;
  std::unique_ptr<SendQueue> mail_ = std::make_unique<SendQueue>();
  std::unique_ptr<wire::Stats> stats_ = std::make_unique<wire::Stats>();
  std::vector<std::byte> tail_ = std::vector<std::byte>(1);
};

TEST_F(MailTest, GoesAtOnceWhereItIsRead) {
  add(0);
  add(1);
  EXPECT_EQ(read(), up_to(2));
  EXPECT_EQ(unsent(), 0u);
  EXPECT_FALSE(mail_->has_pending());
}

TEST_F(MailTest, WaitsInOrderForOneThatDoesNotRead) {
  const std::uint64_t added = fill(1000);
  EXPECT_TRUE(mail_->has_pending());
  std::vector<std::uint64_t> tokens = read();
  ASSERT_LT(tokens.size(), added);
  while (mail_->has_pending()) {
    mail_->flush(connection_);
    append(&tokens);
  }
  EXPECT_EQ(tokens, up_to(added));
  EXPECT_EQ(unsent(), 0u);
}

TEST_F(MailTest, NothingOvertakesWhatWaits) {
  const std::uint64_t added = fill(3);
  std::vector<std::uint64_t> tokens = read();
  add(added);
  append(&tokens);
  EXPECT_EQ(tokens, up_to(added + 1));
}

TEST_F(MailTest, ItsRoomIsUsedAgain) {
  std::uint64_t added = fill(5000);
  std::vector<std::uint64_t> tokens;
  for (int round = 0; round < 50; ++round) {
    append(&tokens);
    for (int i = 0; i < 200; ++i) add(added++);
  }
  while (mail_->has_pending()) {
    mail_->flush(connection_);
    append(&tokens);
  }
  append(&tokens);
  EXPECT_EQ(tokens, up_to(added));
}

TEST_F(MailTest, WhatFindsNoRoomIsCounted) {
  const std::uint64_t added = fill(20000);  // more than there is room for
  std::vector<std::uint64_t> tokens = read();
  while (mail_->has_pending()) {
    mail_->flush(connection_);
    append(&tokens);
  }
  EXPECT_EQ(tokens.size() + unsent(), added);
  EXPECT_GT(unsent(), 0u);
  tokens.resize(1000);
  EXPECT_EQ(tokens, up_to(1000));
}

TEST_F(MailTest, WhatIsNotReadByTheEndStaysCounted) {
  const std::uint64_t added = fill(10);
  mail_->drain(connection_, 1);
  EXPECT_FALSE(mail_->has_pending());
  EXPECT_EQ(unsent(), 10u);
  EXPECT_EQ(read(), up_to(added - 10));
}

TEST_F(MailTest, APeerThatIsGoneIsNotWaitedFor) {
  fill(10);
  peer_.reset(-1);
  mail_->drain(connection_, 600'000);
  EXPECT_EQ(unsent(), 10u);
}

}  // namespace
}  // namespace gpuprof::agent
