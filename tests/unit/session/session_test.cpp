// SPDX-License-Identifier: Apache-2.0
//
// Whole sessions over real sockets: fake agents in, files out.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/unit/session/daemon_fixture.hpp"

namespace gpuprof::session {
namespace {

using fakes::FakeAgent;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using wire::RingRole;

std::uint64_t count_of(const recording::Counts& counts, const std::string& part) {
  std::uint64_t sum = 0;
  for (const auto& [name, count] : counts)
    if (name.find(part) != std::string::npos) sum += count;
  return sum;
}

std::string text_of(const std::string& path) {
  std::string text;
  FILE* unpacked = ::popen(("gzip -dc '" + path + "'").c_str(), "r");
  char part[4096];
  while (std::size_t bytes = ::fread(part, 1, sizeof part, unpacked)) text.append(part, bytes);
  ::pclose(unpacked);
  return text;
}

TEST_F(DaemonTest, WholeRunOfOneProcessBecomesOneFile) {
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(static_cast<std::uint32_t>(::getpid()), RingRole::kCallback);
    for (std::uint32_t i = 1; i <= 100; ++i) launch(ring, i, 1);
    agent.process_messages();
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  const int status = wait_for(child);

  const recording::Summary summary = finish(status);

  EXPECT_EQ(0, status);
  ASSERT_EQ(1u, summary.files.size());
  EXPECT_TRUE(std::filesystem::exists(summary.files[0].path));
  EXPECT_TRUE(summary.complete);
  ASSERT_EQ(1u, summary.processes.size());
  EXPECT_EQ(100u, summary.processes[0].gpu_events);
  EXPECT_EQ(100u, summary.processes[0].api_calls);
  EXPECT_EQ("exited", summary.processes[0].end);
  EXPECT_TRUE(spool_folders().empty()) << "the spool goes when every file is written";
}

TEST_F(DaemonTest, OfMoreThanAThousandShortProcessesTheLeastAreCountedOnly) {
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(static_cast<std::uint32_t>(::getpid()), RingRole::kCallback);
    launch(ring, 1, 1);
    agent.process_messages();
    for (int i = 0; i < 1010; ++i) {
      const pid_t brief = ::fork();
      if (brief != 0) {
        if (wait_for(brief) != 0) ::_exit(4);
        continue;
      }
      FakeAgent own;
      FakeAgent::Options options;
      options.woke = wire::kWakeCpuTime;
      if (!own.connect(address, options)) ::_exit(3);
      own.send_bye();
      ::_exit(0);
    }
    agent.process_messages();
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  const int status = wait_for(child);

  const recording::Summary summary = finish(status);

  EXPECT_EQ(0, status) << "every one of them is met";
  EXPECT_EQ(1000U, summary.processes.size());
  EXPECT_EQ(1011U, summary.processes_seen);
  EXPECT_THAT(summary.remarks, Contains(HasSubstr("11 short processes were only counted")));
  EXPECT_EQ(1u, summary.files.size()) << "what did more is not forgotten";
}

TEST_F(DaemonTest, SleepsWhileFilesAreWritten) {
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    for (std::uint32_t i = 1; i <= 40'000; ++i) {
      launch(ring, i, 1);
      if (i % 1000 == 0) sleep_ms(6);
    }
    agent.process_messages();
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  const int status = wait_for(child);
  const std::uint64_t began_ns = base::mono_ns(), turns = turns_->load();

  const recording::Summary summary = finish(status);

  const std::uint64_t took_ms = (base::mono_ns() - began_ns) / 1'000'000;
  EXPECT_EQ(1u, summary.files.size());
  // clock: a slow machine is allowed more
  EXPECT_LE(turns_->load() - turns, took_ms + 20) << "in " << took_ms << " ms";
}

TEST_F(DaemonTest, KilledProcessLosesNothingItHadPublished) {
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    for (std::uint32_t i = 1; i <= 1000; ++i) launch(ring, i, 1);
    ::raise(SIGKILL);
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  const int status = wait_for(child);

  const recording::Summary summary = finish(status);

  EXPECT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(1u, summary.processes.size());
  EXPECT_EQ(1000u, summary.processes[0].gpu_events);
  EXPECT_EQ("vanished", summary.processes[0].end);
}

TEST_F(DaemonTest, KilledProcessSaysWhatCuptiHadNotDelivered) {
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    for (std::uint32_t i = 1; i <= 10; ++i) launch(ring, i, 1);
    for (std::uint32_t i = 11; i <= 17; ++i) launch_undelivered(ring, i, 1);
    ::raise(SIGKILL);
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  const recording::Summary summary = finish(wait_for(child));
  EXPECT_THAT(summary.missing, Contains(AllOf(HasSubstr("was killed by signal 9 (SIGKILL)"),
                                              HasSubstr("7 launches"))));
}

TEST_F(DaemonTest, ProcessThatNeverBeginsToRecordIsSaidTo) {
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    sleep_ms(150);  // its thread does not get to run
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  const recording::Summary summary = finish(wait_for(child));

  const std::string message = "process " + std::to_string(child) + " was not recorded";
  EXPECT_THAT(summary.missing, Contains(HasSubstr(message)));
  ASSERT_EQ(1u, summary.files.size());
  const std::string trace = text_of(summary.files[0].path);
  EXPECT_THAT(trace, HasSubstr(message));
  EXPECT_THAT(trace, Not(HasSubstr("was recorded in this window"))) << "nobody looked";
}

TEST_F(DaemonTest, ProcessThatBeginsLateIsSaidTo) {
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    sleep_ms(1100);
    agent.process_messages();
    auto ring = agent.open_ring(1, RingRole::kCallback);
    launch(ring, 1, 1);
    agent.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  const recording::Summary summary = finish(wait_for(child));

  EXPECT_THAT(summary.missing, Contains(AllOf(HasSubstr("the first "), HasSubstr("are missing"))));
}

TEST_F(DaemonTest, RefusesAnotherSessionsKey) {
  const std::string address = open();
  FakeAgent agent;
  EXPECT_FALSE(agent.connect(address.substr(0, address.find(';')) + ";session=1"));
  EXPECT_THAT(agent.refusal(), HasSubstr("does not exist or has ended"));
  EXPECT_EQ(0u, finish().processes_seen);
}

TEST_F(DaemonTest, RefusesAnotherMajorVersion) {
  const std::string address = open();
  FakeAgent agent;
  FakeAgent::Options old;
  old.major = wire::kWireMajor + 1;
  EXPECT_FALSE(agent.connect(address, old));
  EXPECT_THAT(agent.refusal(), HasSubstr("different versions"));
}

TEST_F(DaemonTest, WritesNoFileWhenNoProcessLoadedTheLibrary) {
  open();
  const recording::Summary summary = finish();
  EXPECT_TRUE(summary.files.empty());
  EXPECT_EQ(0u, summary.processes_seen);
}

TEST_F(DaemonTest, RefusesAnUnknownStepSourceBeforeTheProgramStarts) {
  options_.step = "epochs";
  EXPECT_EQ("", open());
  EXPECT_THAT(refusal_, HasSubstr("got 'epochs'"));
}

TEST_F(DaemonTest, OneHostileProcessDoesNotHurtAnother) {
  const std::string address = open();
  const pid_t bad = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    agent.open_ring(1, RingRole::kCallback);
    std::uint64_t x = 88172645463325252ULL;
    for (std::uint64_t i = 4096; i < agent.total_bytes(); i += 8) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      std::memcpy(agent.bytes() + i, &x, 8);
    }
    std::byte junk[100] = {};
    for (int i = 0; i < 500; ++i) agent.send_bytes(junk, sizeof junk);
    agent.send(wire::Module{1, 2, 3, 4, 0xffffffff, 0xffffffff}, "x");
    agent.send(wire::FlushDone{77, 1});
    ::raise(SIGKILL);
  });
  wait_for(bad);
  const pid_t good = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    for (std::uint32_t i = 1; i <= 50; ++i) launch(ring, i, 1);
    agent.send_bye();
  });
  wait_for(good);

  const recording::Summary summary = finish();

  ASSERT_EQ(2u, summary.processes.size());
  EXPECT_EQ(static_cast<std::uint32_t>(good), summary.processes[1].pid);
  EXPECT_EQ(50u, summary.processes[1].gpu_events);
}

TEST_F(DaemonTest, SilentPeersDoNotKeepASessionFromEnding) {
  const std::string address = open();
  FakeAgent silent;  // lives in this process, never answers a flush
  ASSERT_TRUE(silent.connect(address));

  const recording::Summary summary = finish();

  EXPECT_EQ(1u, summary.processes_seen);
  ASSERT_EQ(1u, summary.processes.size());
  EXPECT_EQ("alive", summary.processes[0].end);
}

TEST_F(DaemonTest, StopsAtTheMaximumSizeAndSaysSo) {
  options_.max_size_bytes = 1;
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    launch(ring, 1, 1);
    for (int i = 0; i < 60'000 && !(i > 20 && !agent.recording()); ++i) {
      agent.process_messages();
      sleep_ms(5);
    }
    const bool off = !agent.recording();
    agent.send_bye();
    ::_exit(off ? 0 : 5);
  });
  EXPECT_EQ(0, wait_for(child)) << "recording is switched off, the program goes on";
  const recording::Summary summary = finish();
  EXPECT_EQ(1u, summary.files.size());
  EXPECT_THAT(summary.remarks, testing::Contains(HasSubstr("--max-size")));
}

TEST_F(DaemonTest, CountsDropsByReason) {
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    for (std::uint32_t i = 0; i < wire::delivery_rings(wire::kDefaultLargeRings); ++i)
      agent.open_ring(2 + i, RingRole::kCallback);  // these hold too much
    auto ring = agent.open_ring(1, RingRole::kCallback);
    for (std::uint32_t i = 1; i <= 60'000; ++i) launch(ring, i, 1);  // far beyond the ring
    ::raise(SIGKILL);
  });
  wait_for(child);
  const recording::Summary summary = finish();
  ASSERT_EQ(1u, summary.processes.size());
  const std::uint64_t lost = count_of(summary.drops_by_reason, "ring full");
  EXPECT_GT(lost, 0u);
  EXPECT_LT(summary.processes[0].gpu_events, 60'000u);
}

TEST_F(DaemonTest, ImageReplacedByExecGivesItsPlaceToTheNewOne) {
  const std::string address = open();
  const pid_t child = fork_child([&] {
    {
      FakeAgent shell;
      if (!shell.connect(address)) ::_exit(3);
    }
    FakeAgent program;
    if (!program.connect(address)) ::_exit(3);
    auto ring = program.open_ring(1, RingRole::kCallback);
    for (std::uint32_t i = 1; i <= 10; ++i) launch(ring, i, 1);
    program.send_bye();
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  EXPECT_EQ(0, wait_for(child));

  const recording::Summary summary = finish();

  ASSERT_EQ(1u, summary.processes.size()) << "one process, whatever it ran";
  EXPECT_EQ("traced", summary.processes[0].role);
  EXPECT_EQ(10u, summary.processes[0].gpu_events);
  EXPECT_EQ(1u, summary.files.size());
}

TEST_F(DaemonTest, EveryImageThatWorkedGetsAFile) {
  const std::string address = open();
  const pid_t child = fork_child([&] {
    for (std::uint32_t image = 1; image <= 3; ++image) {
      FakeAgent program;
      if (!program.connect(address)) ::_exit(3);
      auto ring = program.open_ring(1, RingRole::kCallback);
      for (std::uint32_t i = 1; i <= 10 * image; ++i) launch(ring, i, 1);
      if (image == 1) launch_undelivered(ring, 11, 1);
      if (image == 3) program.send_bye();
    }
  });
  client_->command_started(static_cast<std::uint32_t>(child));
  EXPECT_EQ(0, wait_for(child));

  const recording::Summary summary = finish();

  EXPECT_EQ(3u, summary.files.size());
  EXPECT_EQ(1u, summary.processes_seen);
  EXPECT_EQ(60u, count_of(summary.events_by_kind, "kernels"));
  ASSERT_EQ(3u, summary.processes.size());
  EXPECT_EQ("replaced by exec", summary.processes[0].end);
  EXPECT_EQ("exited", summary.processes[2].end);
  EXPECT_THAT(summary.missing, Contains(AllOf(HasSubstr("exec"), HasSubstr("those of 1 launch"))));
}

TEST_F(DaemonTest, ToldToEndWhileTheProgramRunsItSaysSo) {
  open();
  client_->command_started(static_cast<std::uint32_t>(::getpid()));
  request_daemon_stop();
  EXPECT_TRUE(wait_for_summary().terminated);
}

TEST_F(DaemonTest, ToldToEndAfterTheProgramItHasNothingToSay) {
  open();
  client_->command_ended(0);
  const recording::Summary summary = wait_for_summary();
  request_daemon_stop();
  EXPECT_FALSE(summary.terminated);
}

TEST_F(DaemonTest, ExistingFilesStayAndTheSpoolIsKeptWhenWritingFails) {
  options_.output = folder_ + "/fixed.pt.trace.json.gz";
  options_.output_is_pattern = true;
  std::filesystem::create_directories(folder_);
  ASSERT_NE(nullptr, std::fopen(options_.output.c_str(), "w"));
  const std::string address = open();
  const pid_t child = fork_child([&] {
    FakeAgent agent;
    if (!agent.connect(address)) ::_exit(3);
    auto ring = agent.open_ring(1, RingRole::kCallback);
    launch(ring, 1, 1);
    agent.send_bye();
  });
  wait_for(child);

  const recording::Summary summary = finish();

  EXPECT_FALSE(summary.complete);
  EXPECT_THAT(summary.failures, Not(testing::IsEmpty()));
  EXPECT_TRUE(std::filesystem::exists(summary.spool_folder));
  EXPECT_THAT(summary.open_with, testing::IsEmpty()) << "the spool folder says it already";
}

}  // namespace
}  // namespace gpuprof::session
