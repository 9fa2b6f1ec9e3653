// SPDX-License-Identifier: Apache-2.0
//
// Sessions of processes that run already: joined at fake control sockets, ended by their schedule.
#include <filesystem>

#include "tests/unit/session/join_requests_fixture.hpp"

namespace gpuprof::session {
namespace {

TEST_F(CapturesTest, ControlSocketThatIsClosedForAMomentIsConnectedAtAgain) {
  open();
  const std::string where = path(21);
  // A control socket of a worker that a fork of its program put to sleep: the file is there, nobody
  // listens.
  const base::UniqueFd gone(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  where.copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(0, ::bind(gone.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name));
  const pid_t child = fork_child([&] {
    client_.reset();
    sleep_ms(200);
    ::unlink(where.c_str());
    FakeControlSocket control_socket(where);
    wire::JoinRequest join{};
    if (control_socket.wait_for_request() != MessageType::kJoinRequest ||
        !control_socket.packet().as(&join))
      ::_exit(3);
    FakeAgent agent;
    if (!agent.join(control_socket.take_caller(), join.session, {})) ::_exit(4);
    const bool stopped = agent.serve_until_stopped(300'000);
    ::unlink(where.c_str());
    ::_exit(stopped ? 0 : 5);
  });
  client_->join_process(static_cast<std::uint32_t>(child), where, true, false);

  const recording::Summary summary = wait_for_summary();

  EXPECT_EQ(0, wait_for(child));
  EXPECT_THAT(summary.failures, IsEmpty());
  EXPECT_EQ(1u, summary.processes.size());
}

TEST_F(CapturesTest, RunningProcessIsJoinedRecordedAndLetGo) {
  std::uint32_t pid = 0;
  const recording::Summary summary = retry_with_longer_window(
      [&] {
        open();
        const pid_t child = running_process(path(1));
        pid = static_cast<std::uint32_t>(child);
        client_->join_process(pid, path(1), true, false);
        recording::Summary said = wait_for_summary();
        EXPECT_EQ(0, wait_for(child)) << "it is told that the session is over";
        return said;
      },
      [](const recording::Summary& said) {
        return said.processes.size() == 1 && said.processes[0].gpu_events == 10;
      });

  EXPECT_THAT(summary.failures, IsEmpty());
  ASSERT_EQ(1u, summary.files.size());
  ASSERT_EQ(1u, summary.processes.size());
  EXPECT_EQ(pid, summary.processes[0].pid);
  EXPECT_EQ(10u, summary.processes[0].gpu_events);
  EXPECT_EQ("alive", summary.processes[0].end);
  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_EQ(options_.schedule.active.value,
            summary.windows[0].end_ns - summary.windows[0].start_ns);
  EXPECT_FALSE(summary.stopped);
}

TEST_F(CapturesTest, AProcessThatRecordsInTheFutureDoesNotMoveTheWindowThere) {
  open();
  FakeAgent::Options liar;
  liar.ahead_ns = 3'600'000'000'000;
  const pid_t child = process_that(
      path(31), [](FakeAgent&, wire::RingWriter&) {}, liar);
  client_->join_process(static_cast<std::uint32_t>(child), path(31), true, false);

  const recording::Summary summary = wait_for_summary();

  wait_for(child);
  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_LE(summary.windows[0].end_ns, base::mono_ns());  // clock: the order
}

TEST_F(CapturesTest, ProcessesOfOneSessionShareItsWindow) {
  const recording::Summary summary = retry_with_longer_window(
      [&] {
        open();
        const pid_t one = running_process(path(2)), other = running_process(path(3));
        client_->join_process(static_cast<std::uint32_t>(one), path(2), true, false);
        client_->join_process(static_cast<std::uint32_t>(other), path(3), true, false);
        recording::Summary said = wait_for_summary();
        EXPECT_EQ(0, wait_for(one));
        EXPECT_EQ(0, wait_for(other));
        return said;
      },
      [](const recording::Summary& said) { return said.files.size() == 2; });
  EXPECT_EQ(2u, summary.files.size());
  EXPECT_EQ(1u, summary.windows.size());
}

TEST_F(CapturesTest, WhatIsMissingFromOneFileOfTwoIsSaidOnce) {
  const recording::Summary summary = retry_with_longer_window(
      [&] {
        open();
        const pid_t one = running_process(path(14), false, "no stacks: forbidden");
        const pid_t other = running_process(path(15));
        client_->join_process(static_cast<std::uint32_t>(one), path(14), true, false);
        client_->join_process(static_cast<std::uint32_t>(other), path(15), true, false);
        recording::Summary said = wait_for_summary();
        EXPECT_EQ(0, wait_for(one));
        EXPECT_EQ(0, wait_for(other));
        return said;
      },
      [](const recording::Summary& said) { return said.files.size() == 2; });
  EXPECT_THAT(summary.missing, Contains("no stacks: forbidden (1 of 2 files)"));
  EXPECT_THAT(summary.missing, Contains(HasSubstr("no stacks: forbidden")).Times(1));
}

TEST_F(CapturesTest, ChildrenOfTheProcessJoinByTheAddressItWasTold) {
  options_.all_processes = true;
  options_.schedule.active.value = 60'000'000'000;
  open();
  FakeControlSocket control_socket(path(8));
  client_->join_process(static_cast<std::uint32_t>(::getpid()), control_socket.path(), true, false);
  ASSERT_EQ(MessageType::kJoinRequest, control_socket.wait_for_request(kTimeoutMs));
  wire::JoinRequest join{};
  ASSERT_TRUE(control_socket.packet().as(&join));
  client_->joins_complete();
  const std::string address = control_socket.text(), connected = joined(control_socket.path());
  FakeAgent agent;
  ASSERT_TRUE(agent.join(control_socket.take_caller(), join.session, {}));
  const pid_t child = fork_child([&] {
    FakeAgent forked;
    if (!forked.connect(address)) ::_exit(3);
    std::ofstream(connected).close();
    ::_exit(forked.serve_until_stopped(kTimeoutMs) ? 0 : 5);
  });
  for (int i = 0; i < kTimeoutMs && !std::filesystem::exists(connected); ++i) {
    agent.process_messages();
    sleep_ms(1);
  }
  client_->end_session();
  EXPECT_TRUE(agent.serve_until_stopped(kTimeoutMs));
  EXPECT_EQ(2u, wait_for_summary().processes_seen);
  EXPECT_EQ(0, wait_for(child));
}

TEST_F(CapturesTest, TheDaemonsEndBeforeThatOfTheWindowIsStated) {
  options_.schedule.active.value = 60'000'000'000;
  open();
  const pid_t child = process_that(path(10), [](FakeAgent&, wire::RingWriter&) {});
  client_->join_process(static_cast<std::uint32_t>(child), path(10), true, false);
  wait_for_file(recorded(path(10)));
  request_daemon_stop();
  const recording::Summary summary = wait_for_summary();
  EXPECT_EQ(0, wait_for(child));
  EXPECT_TRUE(summary.terminated);
  EXPECT_FALSE(summary.stopped);
}

TEST_F(CapturesTest, AskedForItsEndAtTheControlSocketTheSessionEndsAtOnce) {
  options_.schedule.active.value = 60'000'000'000;
  open();
  const pid_t child = running_process(path(9), true);
  client_->join_process(static_cast<std::uint32_t>(child), path(9), true, false);
  const recording::Summary summary = wait_for_summary();
  EXPECT_EQ(0, wait_for(child));
  EXPECT_TRUE(summary.stopped);
  EXPECT_THAT(summary.remarks, Contains(HasSubstr("gpuprof stop")));
  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_EQ("gpuprof stop", summary.windows[0].why);
  EXPECT_EQ(1u, summary.files.size());
}

TEST_F(CapturesTest, InterruptedItSaysSo) {
  options_.schedule.active.value = 60'000'000'000;
  open();
  const pid_t child = running_process(path(13));
  client_->join_process(static_cast<std::uint32_t>(child), path(13), true, false);
  client_->joins_complete();
  wait_for_file(recorded(path(13)));
  client_->end_session();
  const recording::Summary summary = DaemonTest::wait_for_summary();
  EXPECT_EQ(0, wait_for(child));
  EXPECT_TRUE(summary.stopped);
  EXPECT_THAT(summary.remarks, Contains(HasSubstr("interrupted (Ctrl-C")));
  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_EQ("interrupted", summary.windows[0].why);
}

TEST_F(CapturesTest, EndedBeforeTheWindowItSaysThatNotTheProgramEnded) {
  options_.schedule.wait = {recording::Extent::Unit::kTime, 60'000'000'000};
  open();
  const pid_t child = running_process(path(12));
  client_->join_process(static_cast<std::uint32_t>(child), path(12), true, false);
  wait_for_file(joined(path(12)));
  client_->end_session();
  const recording::Summary summary = wait_for_summary();
  ::kill(child, SIGKILL);  // it waits for the recording
  wait_for(child);
  ::unlink(path(12).c_str());
  EXPECT_THAT(summary.remarks, Contains(HasSubstr("the recording ended after")));
  EXPECT_THAT(summary.files, IsEmpty());
}

TEST_F(CapturesTest, TheSessionEndsWithItsClientAndWrites) {
  options_.schedule.active.value = 60'000'000'000;
  open();
  const pid_t child = running_process(path(10));
  client_->join_process(static_cast<std::uint32_t>(child), path(10), true, false);
  wait_for_file(recorded(path(10)));
  client_.reset();
  EXPECT_EQ(0, wait_for(child)) << "the process is released";
  for (int i = 0; i < 30'000 && !spool_folders().empty(); ++i) sleep_ms(10);
  const auto entries = std::filesystem::directory_iterator(options_.output);
  EXPECT_EQ(1, std::distance(begin(entries), end(entries))) << "the file, and no spool";
}

TEST_F(CapturesTest, TheSessionEndsWithItsLastProcess) {
  options_.schedule.active.value = 60'000'000'000;
  open();
  const pid_t child = running_process(path(11));
  client_->join_process(static_cast<std::uint32_t>(child), path(11), true, false);
  wait_for_file(recorded(path(11)));
  ::kill(child, SIGKILL);
  wait_for(child);
  const recording::Summary summary = wait_for_summary();
  ASSERT_EQ(1u, summary.processes.size());
  EXPECT_EQ("vanished", summary.processes[0].end);
  EXPECT_EQ(1u, summary.files.size());
  ::unlink(path(11).c_str());
}

// While the process is recorded so few would not do: more of them could say more.
TEST_F(CapturesTest, FewStepsAtTheEndOfTheLastWindowAreFound) {
  options_.step = "auto";
  options_.schedule.active.value = 1'500'000'000;
  const recording::Summary summary = retry_with_longer_window(
      [&] {
        open();
        const pid_t child = process_that(path(13), [](FakeAgent& agent, wire::RingWriter& ring) {
          agent.delay_last_flush(300);  // steps are looked for there, too: the file is first
          train(ring, 5);
        });
        client_->join_process(static_cast<std::uint32_t>(child), path(13), true, false);
        recording::Summary said = wait_for_summary();
        EXPECT_EQ(0, wait_for(child));
        return said;
      },
      [](const recording::Summary& said) {
        return said.files.size() == 1 && said.files[0].steps >= 4;
      });
  ASSERT_EQ(1u, summary.files.size());
  EXPECT_GE(summary.files[0].steps, 4u) << "all that another one follows";
  EXPECT_THAT(summary.remarks, Contains(HasSubstr("(with Optimizer.step)")));
}

}  // namespace
}  // namespace gpuprof::session
