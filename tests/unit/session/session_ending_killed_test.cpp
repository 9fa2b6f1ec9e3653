// SPDX-License-Identifier: Apache-2.0
//
// Processes as they end: what they said last is read, and their numbers come again.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/unit/session/daemon_fixture.hpp"

namespace gpuprof::session {
namespace {

using fakes::FakeAgent;
using testing::Contains;
using wire::RingRole;

class LastWords : public DaemonTest {
 protected:
  static bool say(FakeAgent& agent, const std::string& text) {
    wire::Notice notice{};
    notice.level = static_cast<std::uint32_t>(wire::NoticeLevel::kMissing);
    notice.ts_ns = base::mono_ns();
    notice.text_bytes = static_cast<std::uint32_t>(text.size());
    return agent.send(notice, text);
  }
};

TEST_F(LastWords, OfAKilledProcessAllAreRead) {
  constexpr int kMessages = 180;  // far below what a socket holds, above what is read at once
  const std::string address = open();
  int ready[2], go[2];
  ASSERT_EQ(0, ::pipe(ready));
  ASSERT_EQ(0, ::pipe(go));
  char byte = 0;
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    launch(ring, 1, 1);
    if (::write(ready[1], &byte, 1) != 1 || ::read(go[0], &byte, 1) != 1) ::_exit(4);
    for (int i = 0; i < kMessages; ++i)
      if (!say(agent, "sentence " + std::to_string(i))) ::_exit(5);
    ::raise(SIGKILL);
  });
  ASSERT_EQ(1, ::read(ready[0], &byte, 1));
  ::kill(daemon_, SIGSTOP);
  ASSERT_EQ(daemon_, ::waitpid(daemon_, nullptr, WUNTRACED));
  ASSERT_EQ(1, ::write(go[1], &byte, 1));
  const int status = wait_for(child);
  ::kill(daemon_, SIGCONT);

  const recording::Summary summary = finish(status);

  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(summary.missing, Contains("sentence 0"));
  EXPECT_THAT(summary.missing, Contains("sentence " + std::to_string(kMessages - 1)));
  for (const int end : {ready[0], ready[1], go[0], go[1]}) ::close(end);
}

TEST_F(LastWords, TwoProcessesOfOneNumberAreTwo) {
  options_.all_processes = true;
  const std::string address = open();
  const pid_t child = fork_child([&] {
    for (std::uint64_t began = 7; began != 9; ++began) {
      FakeAgent agent;
      FakeAgent::Options options;
      options.start_ticks = began;
      if (!agent.connect(address, options)) ::_exit(3);
      auto ring = agent.open_ring(1, RingRole::kCallback);
      launch(ring, 1, 1);
      agent.send_bye();
    }
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  EXPECT_EQ(0, wait_for(child));

  const recording::Summary summary = finish();

  EXPECT_EQ(2u, summary.processes_seen);
  EXPECT_EQ(2u, summary.processes.size());
  EXPECT_EQ(2u, summary.processes_traced);
}

}  // namespace
}  // namespace gpuprof::session
