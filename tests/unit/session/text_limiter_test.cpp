// SPDX-License-Identifier: Apache-2.0
//
// What a process says is kept as far as one process has room, and told where it has none.
#include <gmock/gmock.h>

#include "tests/unit/session/daemon_fixture.hpp"

namespace gpuprof::session {
namespace {

using fakes::FakeAgent;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using wire::RingRole;

constexpr auto kMissing = static_cast<std::uint32_t>(wire::NoticeLevel::kMissing);

class TextsTest : public DaemonTest {
 protected:
  /// The summary of a process that says what `body(agent)` makes it say.
  template <typename Body>
  recording::Summary summary_of(Body body) {
    const std::string address = open();
    const pid_t child = fork_child([&] {
      FakeAgent agent;
      if (!agent.connect(address)) ::_exit(3);
      auto ring = agent.open_ring(static_cast<std::uint32_t>(::getpid()), RingRole::kCallback);
      launch(ring, 1, 1);
      body(agent);
      agent.process_messages();
      agent.send_bye();
    });
    client_->command_started(static_cast<std::uint32_t>(child));
    const int status = wait_for(child);
    EXPECT_EQ(0, status);
    return finish(status);
  }

  static void say(FakeAgent& agent, const std::string& text) {
    wire::Notice notice{};
    notice.feature = 1;
    notice.level = kMissing;
    notice.ts_ns = base::mono_ns();
    notice.text_bytes = static_cast<std::uint32_t>(text.size());
    if (!agent.send(notice, text)) ::_exit(4);
  }
  static void name_thread(FakeAgent& agent, std::uint32_t tid, const std::string& name) {
    wire::Thread thread{};
    thread.tid = tid;
    thread.ts_ns = base::mono_ns();
    thread.name_bytes = static_cast<std::uint32_t>(name.size());
    if (!agent.send(thread, name)) ::_exit(4);
  }
};

TEST_F(TextsTest, SentencesBehindManyNamesAreTold) {
  const recording::Summary summary = summary_of([](FakeAgent& agent) {
    for (std::uint32_t i = 0; i < 20'100; ++i) name_thread(agent, 10'000 + i, "worker");
    say(agent, "what follows the names is missing");
  });

  EXPECT_THAT(summary.missing, Contains("what follows the names is missing"));
  EXPECT_THAT(summary.missing, Not(Contains(HasSubstr("could not be kept"))));
}

TEST_F(TextsTest, OfTooManySentencesTheNewestAreToldAndTheRestIsCounted) {
  constexpr std::uint64_t kMore = 100;
  const recording::Summary summary = summary_of([](FakeAgent& agent) {
    for (std::uint64_t i = 0; i < TextLimiter::kMaxNotices + kMore; ++i)
      say(agent, "sentence " + std::to_string(i));
  });

  const std::string last = std::to_string(TextLimiter::kMaxNotices + kMore - 1);
  EXPECT_THAT(summary.missing, Contains("sentence " + last));
  EXPECT_THAT(summary.missing, Contains(HasSubstr("earlier notices about process")));
  EXPECT_THAT(summary.missing,
              Contains(testing::StartsWith(std::to_string(kMore - TextLimiter::kMaxPending) +
                                           " notices of process")));
}

TEST(Texts, WhatIsUnchangedIsNotWrittenAgain) {
  TextLimiter texts;
  EXPECT_TRUE(texts.admit(TextLimiter::Of::kThread, 7, "loader"));
  EXPECT_FALSE(texts.admit(TextLimiter::Of::kThread, 7, "loader"));
  EXPECT_TRUE(texts.admit(TextLimiter::Of::kThread, 7, "loader", wire::kThreadBlocksSignal));
  EXPECT_TRUE(texts.admit(TextLimiter::Of::kThread, 7, "writer", wire::kThreadBlocksSignal));
  EXPECT_TRUE(texts.admit(TextLimiter::Of::kThread, 8, "loader"));
  EXPECT_TRUE(texts.admit(TextLimiter::Of::kDomain, 7, "loader"));
  EXPECT_EQ(0u, texts.names_lost());
}

TEST(Texts, NamesThatFindNoRoomAreCountedAndTakeNoneFromSentences) {
  TextLimiter texts;
  for (std::uint64_t i = 0; i < TextLimiter::kMaxNames + 5; ++i) {
    const bool took = texts.admit(TextLimiter::Of::kThread, i, "t");
    ASSERT_EQ(i < TextLimiter::kMaxNames, took);
  }
  EXPECT_EQ(5u, texts.names_lost());
  EXPECT_TRUE(texts.admit(model::Notice{1, 1, kMissing, 0, "a sentence"}));
}

TEST(Texts, ASentenceThatClosesAnotherFindsRoom) {
  TextLimiter texts;
  for (std::uint64_t i = 0; i < TextLimiter::kMaxNotices; ++i)
    ASSERT_TRUE(texts.admit(model::Notice{1, 1, kMissing, 0, "a sentence"}));
  EXPECT_FALSE(texts.admit(model::Notice{1, 1, kMissing, 0, "a sentence"}));
  EXPECT_TRUE(texts.admit(model::Notice{1, 1, kMissing, base::kNoticeFinal | 1, "its end"}));
}

TEST(Texts, TheNewestSentencesWaitForTheirTurn) {
  TextLimiter texts;
  for (std::uint64_t i = 0; i < TextLimiter::kMaxNotices + TextLimiter::kMaxPending + 3; ++i)
    texts.admit(model::Notice{i, 1, kMissing, 0, std::to_string(i)});
  std::vector<std::string> given;
  texts.release_pending([&](const model::Notice& notice) { given.emplace_back(notice.text); });
  ASSERT_EQ(TextLimiter::kMaxPending, given.size());
  EXPECT_EQ(std::to_string(TextLimiter::kMaxNotices + 3), given.front());
  EXPECT_EQ(3u, texts.notices_lost());
  texts.release_pending([&](const model::Notice&) { FAIL() << "they are given once"; });
}

}  // namespace
}  // namespace gpuprof::session
