// SPDX-License-Identifier: Apache-2.0
//
// Which steps and which times whole sessions put into their files, with fake agents.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>

#include "tests/unit/session/daemon_fixture.hpp"

namespace gpuprof::session {
namespace {

using fakes::FakeAgent;
using testing::HasSubstr;
using wire::RingRole;

constexpr int kTimeout = 30'000;  // of a busy machine, in looks

/// The daemon may get no processor while a program makes its steps: until the plan says so.
template <typename F>
bool serve_until(FakeAgent& agent, F said) {
  for (int i = 0; i < kTimeout && !said(agent.plan()); ++i) {
    agent.process_messages();
    sleep_ms(1);
  }
  return said(agent.plan());
}
bool is_over(const wire::Plan& plan) {
  return plan.mode.load() == static_cast<std::uint32_t>(wire::AgentState::kArmed);
}
/// The next window, which begins after this step, is planned.
auto plans_after(std::uint64_t step) {
  return [step](const wire::Plan& plan) {
    const std::uint64_t on = plan.on_step.load();
    return on > step && on != wire::kNever;
  };
}

TEST_F(DaemonTest, WindowsHoldExactlyTheAskedSteps) {
  options_.step = "nvtx:step";
  options_.schedule.given = true;
  using U = recording::Extent::Unit;
  options_.schedule.wait = {U::kSteps, 20};
  options_.schedule.warmup = {U::kSteps, 10};
  options_.schedule.active = {U::kSteps, 5};
  options_.schedule.repeat = 2;
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address) || agent.step_text() != "step") ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    for (std::uint32_t i = 0; i < 90; ++i) {
      agent.step(ring, wire::StepSource::kNvtx);
      if (agent.recording()) launch(ring, i + 1, 1);
      sleep_ms(10);
      if (i == 40 && !serve_until(agent, plans_after(i))) ::_exit(4);
    }
    if (!serve_until(agent, is_over)) ::_exit(5);
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  EXPECT_EQ(0, wait_for(child));

  const recording::Summary summary = finish();

  ASSERT_EQ(2u, summary.windows.size());
  EXPECT_EQ(31u, summary.windows[0].first_step);
  EXPECT_EQ(5u, summary.windows[0].steps);
  EXPECT_EQ(66u, summary.windows[1].first_step);
  EXPECT_EQ(5u, summary.windows[1].steps);
  EXPECT_EQ(2u, summary.files.size());
  EXPECT_THAT(summary.remarks,
              testing::ElementsAre(
                  HasSubstr(" steps that match nvtx:step; counted until the last window ended")));
}

// The steps of a window were found all at once, and the last of them runs: the agent has counted
// none to compare with.
TEST_F(DaemonTest, AWindowFoundAfterwardsIsRecordedToItsEnd) {
  options_.step = "kernel:k";
  options_.schedule.given = true;
  options_.schedule.active = {recording::Extent::Unit::kSteps, 3};
  options_.schedule.repeat = 1;
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    ring.push(wire::StringDef{5, 1, 0}, base::mono_ns(), "k", 1);
    while (!agent.recording() && !agent.serve_until_stopped(10)) {
    }
    for (int i = 0; i < 3; ++i) {
      ring.push(wire::UnmatchedLaunch{base::mono_ns(), 5}, base::mono_ns());
      agent.serve_until_stopped(30);
    }
    ring.push(wire::KernelNameMatch{5, 1}, base::mono_ns());
    for (int i = 0; i < 20; ++i) {
      agent.serve_until_stopped(10);
      if (!agent.recording()) ::_exit(4);
    }
    agent.step(ring, wire::StepSource::kKernel);
    for (int i = 0; agent.recording(); ++i) {
      if (i == kTimeout) ::_exit(5);
      agent.serve_until_stopped(10);
    }
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  EXPECT_EQ(0, wait_for(child));
  const recording::Summary summary = finish();
  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_EQ(1u, summary.windows[0].first_step);
  EXPECT_EQ(3u, summary.windows[0].steps);
}

TEST_F(DaemonTest, StepsOf100MicrosecondsAreCutExactly) {
  options_.step = "nvtx:step";
  options_.schedule.given = true;
  using U = recording::Extent::Unit;
  options_.schedule.wait = {U::kSteps, 3000};
  options_.schedule.warmup = {U::kSteps, 1};
  options_.schedule.active = {U::kSteps, 3};
  options_.schedule.repeat = 1;
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    for (std::uint32_t i = 0; i < 6000; ++i) {
      const std::uint64_t until = base::mono_ns() + 100'000;
      agent.step(ring, wire::StepSource::kNvtx);
      while (base::mono_ns() < until) {
      }
    }
    if (!serve_until(agent, is_over)) ::_exit(5);
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  EXPECT_EQ(0, wait_for(child));

  const recording::Summary summary = finish();

  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_EQ(3002u, summary.windows[0].first_step);
  EXPECT_EQ(3u, summary.windows[0].steps);
  EXPECT_THAT(summary.remarks,
              testing::ElementsAre(
                  HasSubstr(" steps that match nvtx:step; counted until the last window ended")));
}

TEST_F(DaemonTest, ProgramWithoutStepsGetsTheProvisionalWindow) {
  options_.step = "nvtx:step";
  options_.schedule.given = true;
  options_.schedule.active = {recording::Extent::Unit::kSteps, 3};
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    for (std::uint32_t i = 1; i <= 10; ++i) launch(ring, i, 1);
    agent.serve_until_stopped(30);
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  EXPECT_EQ(0, wait_for(child));

  const recording::Summary summary = finish();

  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_EQ("no step seen", summary.windows[0].why);
  EXPECT_EQ(1u, summary.files.size());
  EXPECT_THAT(summary.remarks, testing::Contains(HasSubstr("no step was seen")));
}

TEST_F(DaemonTest, AWindowThatTheProgramsEndCutsSaysSo) {
  options_.schedule.given = true;
  options_.schedule.active = {recording::Extent::Unit::kTime, 60'000'000'000};
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    for (std::uint32_t i = 1; i <= 10; ++i) launch(ring, i, 1);
    agent.serve_until_stopped(30);
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  EXPECT_EQ(0, wait_for(child));

  const recording::Summary summary = finish();

  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_EQ("program ended", summary.windows[0].why);
}

TEST_F(DaemonTest, ProcessesWithoutStepsRecordDuringTheOthersWindow) {
  options_.step = "nvtx:step";
  options_.schedule.given = true;
  using U = recording::Extent::Unit;
  options_.schedule.wait = {U::kSteps, 40};
  options_.schedule.warmup = {U::kSteps, 1};
  options_.schedule.active = {U::kSteps, 5};
  options_.schedule.repeat = 1;
  const std::string address = open();
  // Provisional on, off; window on, off: what the helper has seen, however seldom it gets to look.
  constexpr int kAll = 4;
  void* const shared = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& switches = *new (shared) std::atomic<int>(0);
  const pid_t helper = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    agent.open_ring(1, RingRole::kCallback);
    for (bool was = false; !agent.stopped() && switches < kAll; sleep_ms(1)) {
      agent.process_messages();
      if (agent.recording() != was) ++switches;
      was = agent.recording();
    }
    agent.send_bye();
    ::_exit(switches >= kAll ? 0 : 4);
  });
  const pid_t leader = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    const auto wait_until_seen = [&](int count) {
      for (int i = 0; switches < count; ++i) {
        if (i == kTimeout) ::_exit(6);
        agent.process_messages();
        sleep_ms(1);
      }
    };
    wait_until_seen(1);
    for (int i = 0; i < 70; ++i) {
      agent.step(ring, wire::StepSource::kNvtx);
      sleep_ms(10);
      if (i == 35) wait_until_seen(2);
      if (i == 43) wait_until_seen(3);
    }
    wait_until_seen(kAll);
    agent.send_bye();
  });
  EXPECT_EQ(0, wait_for(leader));
  if (switches < kAll) ::kill(helper, SIGKILL);
  EXPECT_EQ(0, wait_for(helper));
  ::munmap(shared, sizeof switches);
  const recording::Summary summary = finish();
  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_EQ(42u, summary.windows[0].first_step);
}

TEST_F(DaemonTest, KeepsTheFirstOrTheLastWindows) {
  for (const char* keep : {"first:2", "last:2"}) {
    options_.keep = keep;
    options_.output = folder_ + "/" + std::string(keep, 5);
    options_.step = "nvtx:step";
    options_.schedule = {};
    options_.schedule.given = true;
    options_.schedule.active = {recording::Extent::Unit::kSteps, 5};
    const std::string address = open();
    const pid_t child = fork_child([&] {
      FakeAgent agent;
      if (!agent.connect(address)) ::_exit(3);
      agent.process_messages();
      sleep_ms(50);
      auto ring = agent.open_ring(1, RingRole::kCallback);
      for (int i = 0; i < 31; ++i) {
        agent.step(ring, wire::StepSource::kNvtx);
        sleep_ms(10);
      }
      agent.serve_until_stopped(50);
      agent.send_bye();
    });
    EXPECT_EQ(0, wait_for(child));
    const recording::Summary summary = finish();
    ASSERT_EQ(2u, summary.files.size()) << keep;
    const bool first = keep[0] == 'f';
    EXPECT_EQ(first ? 1u : 21u, summary.windows[summary.files[0].window].first_step) << keep;
    EXPECT_EQ(first ? 6u : 26u, summary.windows[summary.files[1].window].first_step) << keep;
    client_.reset();
    stop_daemon();
  }
}

}  // namespace
}  // namespace gpuprof::session
