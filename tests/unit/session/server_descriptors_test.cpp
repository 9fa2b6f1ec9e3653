// SPDX-License-Identifier: Apache-2.0
//
// A daemon that may have few descriptors and meets many processes.
#include <gmock/gmock.h>

#include "tests/unit/session/daemon_fixture.hpp"

extern "C" void __ubsan_handle_type_mismatch_v1(void*, void*) __attribute__((weak));

namespace gpuprof::session {
namespace {

using fakes::FakeAgent;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class DescriptorsTest : public DaemonTest {
 protected:
  DescriptorsTest() { descriptors_ = 64; }

  /// Greets as a process that works; 's': it is served, 'r': refused with a sentence, 'u': neither.
  static char greet(FakeAgent& agent, const std::string& address) {
    FakeAgent::Options options;
    options.woke = wire::kWakeCpuTime;
    return agent.connect(address, options) ? 's' : agent.refusal().empty() ? 'u' : 'r';
  }
};

TEST_F(DescriptorsTest, ProcessesThatEndedKeepNone) {
  constexpr int kProcesses = 100;
  const std::string address = open();
  const pid_t child = fork_child([&] {
    for (int i = 0; i < kProcesses; ++i)
      if (wait_for(fork_child([&] {
            FakeAgent agent;
            if (greet(agent, address) != 's') ::_exit(3);
            agent.send_bye();
          })) != 0)
        ::_exit(3);
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  const int status = wait_for(child);

  const recording::Summary summary = finish(status);

  EXPECT_EQ(0, status) << "all are met";
  EXPECT_EQ(static_cast<std::size_t>(kProcesses), summary.processes_seen);
  EXPECT_TRUE(summary.failures.empty());
}

TEST_F(DescriptorsTest, WhoeverFindsNoneIsRefusedAndCounted) {
  if (&__ubsan_handle_type_mismatch_v1 != nullptr)
    GTEST_SKIP() << "UBSan makes a pipe to see whether memory is there";
  constexpr int kProcesses = 40;
  const std::string address = open();
  int told[2], held[2];
  ASSERT_EQ(0, ::pipe(told));
  ASSERT_EQ(0, ::pipe(held));
  const std::uint64_t began_ns = base::mono_ns(), turns = turns_->load();
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i)
    children.push_back(fork_child([&] {
      ::close(held[1]);
      FakeAgent agent;
      char answer = greet(agent, address);
      if (::write(told[1], &answer, 1) == 1 && answer == 's' && ::read(held[0], &answer, 1) == 0)
        agent.send_bye();
    }));
  client_->command_started(static_cast<std::uint32_t>(children.front()));
  std::string answers(kProcesses, ' ');
  for (char& answer : answers) ASSERT_EQ(1, ::read(told[0], &answer, 1));
  const std::uint64_t took_ms = (base::mono_ns() - began_ns) / 1'000'000;
  const std::uint64_t turned = turns_->load() - turns;
  ::close(held[1]);
  for (const pid_t child : children) wait_for(child);

  const recording::Summary summary = finish();

  EXPECT_THAT(answers, Not(HasSubstr("u")));
  EXPECT_THAT(answers, HasSubstr("r"));
  EXPECT_THAT(summary.missing, Contains(HasSubstr("the daemon could not record ")));
  // Whether the last ones lack a descriptor for their socket or for what follows it is chance.
  // clock: a slow machine is allowed more
  EXPECT_LE(turned, 10 * took_ms + 1000) << "it sleeps while it has none";
  for (const int end : {told[0], told[1], held[0]}) ::close(end);
}

}  // namespace
}  // namespace gpuprof::session
