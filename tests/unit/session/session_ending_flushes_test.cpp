// SPDX-License-Identifier: Apache-2.0
//
// What is missing because a thread of the library got no processor is reported by the daemon.
//
// Context:  tests
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon_fixture.hpp"

namespace gpuprof::session {
namespace {

using fakes::FakeAgent;
using testing::HasSubstr;
using wire::Counter;
using wire::RingRole;

void add_to(FakeAgent& agent, Counter which, std::uint64_t amount) {
  agent.stats().counters[static_cast<std::size_t>(which)].fetch_add(amount);
}

class Flushes : public DaemonTest {
 protected:
  static constexpr int kLooks = 30'000;  // of a busy machine

  bool has_file() const {
    if (!std::filesystem::exists(options_.output)) return false;
    for (const auto& entry : std::filesystem::directory_iterator(options_.output))
      if (entry.is_regular_file() && entry.path().filename().string()[0] != '.') return true;
    return false;
  }
  /// The command: `body(agent, ring buffer)` once it is recorded, and its end. Returns its id.
  template <typename Body>
  pid_t once_recorded(const std::string& address, Body body) {
    const pid_t child = fork_child([&] {
      FakeAgent agent;
      if (!agent.connect(address)) ::_exit(3);
      auto ring = agent.open_ring(1, RingRole::kCallback);
      while (!agent.recording()) agent.serve_until_stopped(1);
      body(agent, ring);
      agent.send_bye();
    });
    client_->command_started(static_cast<std::uint32_t>(child));
    EXPECT_EQ(0, wait_for(child));
    return child;
  }
};

TEST_F(Flushes, AnEndWhoseFlushIsNotAnsweredIsTold) {
  const std::string address = open();
  FakeAgent silent;  // lives in this process
  ASSERT_TRUE(silent.connect(address));
  auto ring = silent.open_ring(1, RingRole::kCallback);
  for (int i = 0; i < kLooks && !silent.recording(); ++i) {
    silent.process_messages();
    sleep_ms(1);
  }
  launch(ring, 1, 1);

  const recording::Summary summary = finish();

  EXPECT_THAT(summary.missing,
              testing::Contains(HasSubstr("the last window of process " +
                                          std::to_string(::getpid()) + " may lack GPU events")));
}

// The library answers after a second, whether CUPTI's flush has ended or not.
TEST_F(Flushes, AWindowWhoseFlushDidNotEndIsTold) {
  options_.step = "nvtx:step";
  options_.schedule.given = true;
  options_.schedule.active = {recording::Extent::Unit::kSteps, 5};
  options_.schedule.repeat = 1;
  const pid_t child = once_recorded(open(), [&](FakeAgent& agent, auto& ring) {
    add_to(agent, Counter::kFlushTimeouts, 1);
    std::uint32_t n = 0;
    for (int i = 0; i < kLooks && !has_file(); ++i) {
      agent.step(ring, wire::StepSource::kNvtx);
      launch(ring, ++n, 1);
      agent.serve_until_stopped(10);
    }
  });

  const recording::Summary summary = finish();

  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_THAT(summary.missing,
              testing::Contains(HasSubstr("window 1 of process " + std::to_string(child) +
                                          " may lack GPU events")));
}

TEST_F(Flushes, ALateSwitchIsTold) {
  const pid_t child = once_recorded(open(), [&](FakeAgent& agent, auto& ring) {
    add_to(agent, Counter::kCuptiEnableDelayNs, 2'500'000'000);
    launch(ring, 1, 1);
  });

  const recording::Summary summary = finish();

  EXPECT_THAT(summary.missing,
              testing::Contains(HasSubstr("CUPTI records of process " + std::to_string(child) +
                                          " are missing for 2.5")));
}

TEST_F(Flushes, ACallOfAnotherProfilerThatWasNotFollowedIsTold) {
  const pid_t child = once_recorded(open(), [&](FakeAgent& agent, auto& ring) {
    add_to(agent, Counter::kProgramCuptiCallsMissed, 2);
    launch(ring, 1, 1);
  });

  const recording::Summary summary = finish();

  EXPECT_THAT(summary.missing,
              testing::Contains(HasSubstr("2 calls by process " + std::to_string(child) +
                                          " to its own CUPTI profiler")));
}

TEST_F(Flushes, MarksOfStepsThatFoundNoRoomAreTold) {
  const pid_t child = once_recorded(open(), [&](FakeAgent& agent, auto& ring) {
    const auto drop = [&](wire::Kind kind, std::uint64_t count) {
      agent.stats().dropped_of_kind[static_cast<std::size_t>(kind)].fetch_add(count);
    };
    drop(wire::Kind::kOpBegin, 100);
    drop(wire::Kind::kStepMark, 2);
    drop(wire::Kind::kLoopMark, 3);
    launch(ring, 1, 1);
  });

  const recording::Summary summary = finish();

  const std::string of = "step marks of process " + std::to_string(child) + " could not be stored";
  EXPECT_THAT(summary.missing, testing::Contains(testing::StartsWith("5 " + of)));
  EXPECT_THAT(summary.missing, testing::Not(testing::Contains(testing::StartsWith(of))))
      << "what was said while it ran is replaced";
}

void read_clock(wire::RingWriter& ring) {
  const std::uint64_t mono = base::mono_ns(), real = base::real_ns();
  ring.push(wire::ClockSync{real, mono, real, mono, 0, 10, 0}, mono);
}

TEST_F(Flushes, RecordsOfCallsThatDoNotComeAreTold) {
  const pid_t child = once_recorded(open(), [&](FakeAgent&, auto& ring) {
    const std::uint64_t real = base::real_ns();
    launch_undelivered(ring, 1, 1);
    launch_undelivered(ring, 2, 1);
    wire::KernelExec kernel{};
    kernel.start_ns = real + 6000;
    kernel.end_ns = real + 9000;
    kernel.correlation = 1;
    ring.push(kernel, base::mono_ns());
    read_clock(ring);
    read_clock(ring);
  });

  const recording::Summary summary = finish();

  const std::string process = std::to_string(child);
  EXPECT_THAT(
      summary.missing,
      testing::Contains(HasSubstr("CUPTI delivers no records of CUDA API calls of process " +
                                  process + " (0 for 2 launches)")));
}

TEST_F(Flushes, NothingIsSaidOfOneThatEnded) {
  once_recorded(open(), [&](FakeAgent&, auto& ring) { launch(ring, 1, 1); });

  const recording::Summary summary = finish();

  EXPECT_THAT(summary.missing, testing::Not(testing::Contains(HasSubstr("may lack"))));
  EXPECT_THAT(summary.missing,
              testing::Not(testing::Contains(HasSubstr("CUPTI records of process"))));
  EXPECT_THAT(summary.missing, testing::Not(testing::Contains(HasSubstr("tracked"))));
}

}  // namespace
}  // namespace gpuprof::session
