// SPDX-License-Identifier: Apache-2.0
//
// Sessions of processes that run already: joined at fake doors, ended by their schedule.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fstream>

#include "gpuprof/base/unique_fd.hpp"
#include "support/proc.hpp"
#include "tests/fakes/fake_door.hpp"
#include "tests/unit/session/daemon_fixture.hpp"

namespace gpuprof::session {
namespace {

using fakes::FakeAgent;
using fakes::FakeDoor;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::LaneRole;
using wire::MessageType;

constexpr std::uint64_t kWindowNs = 200'000'000;

std::uint64_t define(wire::LaneWriter& lane, const std::string& text) {
  const auto bytes = static_cast<std::uint32_t>(text.size());
  const std::uint64_t id = base::hash_bytes(text.data(), text.size());
  lane.push(wire::StringDef{id, bytes, 0}, base::mono_ns(), text.data(), bytes);
  return id;
}

/// Iterations of a loop with an optimizer inside, 20 ms each and half of it in operators.
void train(wire::LaneWriter& lane, std::uint32_t iterations) {
  constexpr std::uint64_t kLoop = 1, kStack = 11;
  const std::uint64_t linear = define(lane, "aten::linear");
  const std::uint64_t update = define(lane, "Optimizer.step#SGD.step");
  lane.push(wire::LoopDef{kLoop, 7, 10, 20, 0, 0}, base::mono_ns());
  lane.push(wire::StackLoops{kStack, 1, 0}, base::mono_ns(), &kLoop, sizeof kLoop);
  std::uint32_t op_id = 0;
  for (std::uint32_t i = 0; i < iterations; ++i) {
    std::uint64_t now = base::mono_ns();
    lane.push(wire::LoopMark{now, kLoop, i == 0 ? wire::kMarkFirst : 0, 0}, now);
    for (const std::uint64_t name : {linear, update}) {
      ++op_id;
      const std::uint16_t scope = name == linear ? 0 : 7;
      lane.push(
          wire::OpBegin{now, name, kStack, 0, -1, op_id, op_id, 0, 0, scope, wire::kOpTopLevel},
          now);
      sleep_ms(5);
      now = base::mono_ns();
      lane.push(wire::OpEnd{now, op_id, op_id, 0}, now);
    }
    sleep_ms(10);
  }
}

class CapturesTest : public DaemonTest {
 protected:
  CapturesTest() {
    options_.of_running = true;
    options_.schedule.given = true;
    options_.schedule.active = {api::Extent::Unit::kTime, kWindowNs};
    options_.schedule.repeat = 1;
  }

  /// Where nobody looks who asks all processes of this user.
  static std::string path(unsigned long long nonce) {
    return testing::TempDir() + "captures_test." + std::to_string(::getpid()) + "." +
           std::to_string(nonce);
  }

  /// Once it is there, processes may end.
  std::string go_on() const { return folder_ + "/go_on"; }
  int wait_for(pid_t pid) const {
    std::ofstream(go_on()).close();
    return DaemonTest::wait_for(pid);
  }

  api::Summary wait_for_summary() {
    client_->captures_complete();
    return DaemonTest::wait_for_summary();
  }

  /// A process that runs, waits at `path`, is joined, and launches ten kernels. Exits with 0 if the
  /// daemon let it go.
  pid_t running_process(const std::string& path, bool asks_for_its_end = false,
                        const std::string& says = "") {
    return process_that(path, [&](FakeAgent& agent, wire::LaneWriter& lane) {
      if (!says.empty())
        agent.send(wire::Notice{0, static_cast<std::uint32_t>(wire::NoticeLevel::kMissing), 0,
                                static_cast<std::uint32_t>(says.size()), base::mono_ns()},
                   says);
      for (std::uint32_t i = 1; i <= 10; ++i) launch(lane, i, 1);
      if (asks_for_its_end) agent.send(wire::EndAsked{1, 0});
    });
  }

  /// The same, but it does `work` once it is recorded.
  pid_t process_that(const std::string& path,
                     const std::function<void(FakeAgent&, wire::LaneWriter&)>& work,
                     const FakeAgent::Options& as = {}) {
    const pid_t child = fork_child([&] {
      client_.reset();  // else the daemon never sees its client go
      FakeDoor door(path);
      wire::DoorJoin join{};
      if (door.next() != MessageType::kDoorJoin || !door.packet().as(&join)) ::_exit(3);
      FakeAgent agent;
      if (!agent.join(door.take_caller(), join.session, as)) ::_exit(4);
      auto lane = agent.open_lane(1, LaneRole::kCallback);
      for (int i = 0; i < 300'000 && !agent.recording(); ++i) agent.serve(), sleep_ms(1);
      work(agent, lane);
      const bool stopped = agent.serve_until_stopped(300'000);
      ::unlink(path.c_str());
      // It runs on: the daemon is to find it alive when it says how the process ended.
      for (int i = 0; i < 300'000 && ::access(go_on().c_str(), F_OK) != 0; ++i) sleep_ms(1);
      ::_exit(stopped ? 0 : 5);
    });
    for (int i = 0; i < 300'000 && ::access(path.c_str(), F_OK) != 0; ++i) sleep_ms(1);
    return child;
  }
};

TEST_F(CapturesTest, DoorThatIsClosedForAMomentIsKnockedAtAgain) {
  open();
  const std::string where = path(21);
  // A door of a worker that a fork of its program put to sleep: the file is there, nobody listens.
  const base::UniqueFd gone(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  where.copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(0, ::bind(gone.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name));
  const pid_t child = fork_child([&] {
    client_.reset();
    sleep_ms(200);
    ::unlink(where.c_str());
    FakeDoor door(where);
    wire::DoorJoin join{};
    if (door.next() != MessageType::kDoorJoin || !door.packet().as(&join)) ::_exit(3);
    FakeAgent agent;
    if (!agent.join(door.take_caller(), join.session, {})) ::_exit(4);
    const bool stopped = agent.serve_until_stopped(300'000);
    ::unlink(where.c_str());
    ::_exit(stopped ? 0 : 5);
  });
  client_->capture(static_cast<std::uint32_t>(child), where, true, false);

  const api::Summary summary = wait_for_summary();

  EXPECT_EQ(0, wait_for(child));
  EXPECT_THAT(summary.failures, IsEmpty());
  EXPECT_EQ(1u, summary.processes.size());
}

TEST_F(CapturesTest, RunningProcessIsJoinedRecordedAndLetGo) {
  open();
  const pid_t child = running_process(path(1));
  client_->capture(static_cast<std::uint32_t>(child), path(1), true, false);

  const api::Summary summary = wait_for_summary();

  EXPECT_EQ(0, wait_for(child)) << "it is told that the session is over";
  EXPECT_THAT(summary.failures, IsEmpty());
  ASSERT_EQ(1u, summary.files.size());
  ASSERT_EQ(1u, summary.processes.size());
  EXPECT_EQ(static_cast<std::uint32_t>(child), summary.processes[0].pid);
  EXPECT_EQ(10u, summary.processes[0].gpu_events);
  EXPECT_EQ("alive", summary.processes[0].end);
  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_EQ(kWindowNs, summary.windows[0].end_ns - summary.windows[0].start_ns);
  EXPECT_FALSE(summary.stopped);
}

TEST_F(CapturesTest, AProcessThatRecordsInTheFutureDoesNotMoveTheWindowThere) {
  open();
  FakeAgent::Options liar;
  liar.ahead_ns = 3'600'000'000'000;
  const pid_t child = process_that(
      path(31), [](FakeAgent&, wire::LaneWriter&) {}, liar);
  client_->capture(static_cast<std::uint32_t>(child), path(31), true, false);

  const api::Summary summary = wait_for_summary();

  wait_for(child);
  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_LE(summary.windows[0].end_ns, base::mono_ns());  // clock: the order
}

TEST_F(CapturesTest, ProcessesOfOneSessionShareItsWindow) {
  open();
  const pid_t one = running_process(path(2)), other = running_process(path(3));
  client_->capture(static_cast<std::uint32_t>(one), path(2), true, false);
  client_->capture(static_cast<std::uint32_t>(other), path(3), true, false);
  const api::Summary summary = wait_for_summary();
  EXPECT_EQ(0, wait_for(one));
  EXPECT_EQ(0, wait_for(other));
  EXPECT_EQ(2u, summary.files.size());
  EXPECT_EQ(1u, summary.windows.size());
}

TEST_F(CapturesTest, WhatIsMissingFromOneFileOfTwoIsSaidOnce) {
  open();
  const pid_t one = running_process(path(14), false, "no stacks: forbidden");
  const pid_t other = running_process(path(15));
  client_->capture(static_cast<std::uint32_t>(one), path(14), true, false);
  client_->capture(static_cast<std::uint32_t>(other), path(15), true, false);
  const api::Summary summary = wait_for_summary();
  EXPECT_EQ(0, wait_for(one));
  EXPECT_EQ(0, wait_for(other));
  EXPECT_THAT(summary.missing, Contains("no stacks: forbidden (1 of 2 files)"));
  EXPECT_THAT(summary.missing, Contains(HasSubstr("no stacks: forbidden")).Times(1));
}

TEST_F(CapturesTest, NobodyAtTheDoorIsAFailureAndEndsTheSession) {
  open();
  const pid_t gone = fork_child([] { ::_exit(0); });
  DaemonTest::wait_for(gone);
  client_->capture(static_cast<std::uint32_t>(gone), folder_ + "/none.door", true, false);
  const api::Summary summary = wait_for_summary();
  EXPECT_THAT(summary.failures, Contains(HasSubstr("cannot be recorded: it has ended")));
  EXPECT_THAT(summary.files, IsEmpty());
  EXPECT_THAT(summary.remarks, IsEmpty()) << "no window was ever due";
  EXPECT_THAT(spool_folders(), IsEmpty());
}

TEST_F(CapturesTest, AnotherProgramThanWasMeantIsNotWaitedFor) {
  open();
  const pid_t child = fork_child([] { ::pause(); });
  const std::uint32_t now = support::program_mark(child), before = now ^ 2;
  ASSERT_NE(now, 0u);
  client_->capture(static_cast<std::uint32_t>(child), folder_ + "/none.door", true, false, before);
  const api::Summary summary = wait_for_summary();
  EXPECT_THAT(summary.failures, Contains(HasSubstr("started another program (exec)")));
  ::kill(child, SIGKILL);
  DaemonTest::wait_for(child);
}

TEST_F(CapturesTest, OneThatFailsDoesNotHurtAnother) {
  open();
  const pid_t child = running_process(path(4));
  client_->capture(1234, folder_ + "/none.door", true, false);
  client_->capture(static_cast<std::uint32_t>(child), path(4), true, false);
  const api::Summary summary = wait_for_summary();
  EXPECT_EQ(0, wait_for(child));
  EXPECT_THAT(summary.failures, Contains(HasSubstr("process 1234")));
  EXPECT_EQ(1u, summary.files.size());
}

TEST_F(CapturesTest, AnotherProcessBehindTheDoorIsNotRecorded) {
  open();
  FakeDoor door(path(5));
  client_->capture(static_cast<std::uint32_t>(::getpid()) + 1, door.path(), true, false);
  const api::Summary summary = wait_for_summary();
  EXPECT_THAT(summary.failures, Contains(HasSubstr("another process listens")));
  EXPECT_EQ(MessageType{}, door.next(50)) << "it is told nothing of us";
}

TEST_F(CapturesTest, RefusalIsTheProcessesOwnSentence) {
  open();
  FakeDoor door(path(6));
  client_->capture(static_cast<std::uint32_t>(::getpid()), door.path(), true, true);
  ASSERT_EQ(MessageType::kDoorJoin, door.next());
  wire::DoorJoin join{};
  ASSERT_TRUE(door.packet().as(&join));
  EXPECT_NE(0u, join.session);
  EXPECT_NE(0u, join.flags & wire::kJoinThenDetach);
  door.refuse("it is being recorded already");
  const api::Summary summary = wait_for_summary();
  EXPECT_THAT(summary.failures, Contains(HasSubstr("it is being recorded already")));
}

TEST_F(CapturesTest, SilenceIsGivenUp) {
  open();
  FakeDoor door(path(7));
  client_->capture(static_cast<std::uint32_t>(::getpid()), door.path(), true, false);
  const api::Summary summary = wait_for_summary();
  EXPECT_THAT(summary.failures, Contains(HasSubstr("its thread does not get to run")));
}

TEST_F(CapturesTest, AStoppedProcessIsSaidToBeOne) {
  open();
  const std::string door_path = path(16);
  const pid_t child = fork_child([&] {
    FakeDoor door(door_path);
    ::raise(SIGSTOP);
  });
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, WUNTRACED));
  client_->capture(static_cast<std::uint32_t>(child), door_path, true, false);
  const api::Summary summary = wait_for_summary();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::unlink(door_path.c_str());
  EXPECT_THAT(summary.failures, Contains(HasSubstr("kill -CONT " + std::to_string(child))));
}

TEST_F(CapturesTest, ChildrenOfTheProcessJoinByTheAddressItWasTold) {
  options_.all_processes = true;
  options_.schedule.active.value = 1'000'000'000;
  open();
  FakeDoor door(path(8));
  client_->capture(static_cast<std::uint32_t>(::getpid()), door.path(), true, false);
  ASSERT_EQ(MessageType::kDoorJoin, door.next());
  wire::DoorJoin join{};
  ASSERT_TRUE(door.packet().as(&join));
  client_->captures_complete();
  const std::string address = door.text();
  FakeAgent agent;
  ASSERT_TRUE(agent.join(door.take_caller(), join.session, {}));
  const pid_t child = fork_child([&] {
    FakeAgent forked;
    if (!forked.connect(address)) ::_exit(3);
    ::_exit(forked.serve_until_stopped(300'000) ? 0 : 5);
  });
  EXPECT_TRUE(agent.serve_until_stopped(300'000));
  EXPECT_EQ(2u, wait_for_summary().processes_seen);
  EXPECT_EQ(0, wait_for(child));
}

TEST_F(CapturesTest, AskedForItsEndAtTheDoorTheSessionEndsAtOnce) {
  options_.schedule.active.value = 60'000'000'000;
  open();
  const pid_t child = running_process(path(9), true);
  client_->capture(static_cast<std::uint32_t>(child), path(9), true, false);
  const api::Summary summary = wait_for_summary();
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
  client_->capture(static_cast<std::uint32_t>(child), path(13), true, false);
  client_->captures_complete();
  sleep_ms(500);
  client_->end_session();
  const api::Summary summary = DaemonTest::wait_for_summary();
  EXPECT_EQ(0, wait_for(child));
  EXPECT_TRUE(summary.stopped);
  EXPECT_THAT(summary.remarks, Contains(HasSubstr("interrupted (Ctrl-C")));
  ASSERT_EQ(1u, summary.windows.size());
  EXPECT_EQ("interrupted", summary.windows[0].why);
}

TEST_F(CapturesTest, EndedBeforeTheWindowItSaysThatNotTheProgramEnded) {
  options_.schedule.wait = {api::Extent::Unit::kTime, 60'000'000'000};
  open();
  const pid_t child = running_process(path(12));
  client_->capture(static_cast<std::uint32_t>(child), path(12), true, false);
  sleep_ms(300);
  client_->end_session();
  const api::Summary summary = wait_for_summary();
  ::kill(child, SIGKILL);  // it waits for the recording
  wait_for(child);
  ::unlink(path(12).c_str());
  EXPECT_THAT(summary.remarks, Contains(HasSubstr("The recording ended after")));
  EXPECT_THAT(summary.files, IsEmpty());
}

TEST_F(CapturesTest, TheSessionEndsWithItsClientAndWrites) {
  options_.schedule.active.value = 60'000'000'000;
  open();
  const pid_t child = running_process(path(10));
  client_->capture(static_cast<std::uint32_t>(child), path(10), true, false);
  sleep_ms(300);
  client_.reset();
  EXPECT_EQ(0, wait_for(child)) << "the process is let go";
  for (int i = 0; i < 30'000 && !spool_folders().empty(); ++i) sleep_ms(10);
  const auto entries = std::filesystem::directory_iterator(options_.output);
  EXPECT_EQ(1, std::distance(begin(entries), end(entries))) << "the file, and no spool";
}

TEST_F(CapturesTest, TheSessionEndsWithItsLastProcess) {
  options_.schedule.active.value = 60'000'000'000;
  open();
  const pid_t child = running_process(path(11));
  client_->capture(static_cast<std::uint32_t>(child), path(11), true, false);
  sleep_ms(300);
  ::kill(child, SIGKILL);
  wait_for(child);
  const api::Summary summary = wait_for_summary();
  ASSERT_EQ(1u, summary.processes.size());
  EXPECT_EQ("vanished", summary.processes[0].end);
  EXPECT_EQ(1u, summary.files.size());
  ::unlink(path(11).c_str());
}

// While the process is recorded so few would not do: more of them could say more.
TEST_F(CapturesTest, FewStepsAtTheEndOfTheLastWindowAreFound) {
  options_.step = "auto";
  options_.schedule.active.value = 1'500'000'000;
  open();
  const pid_t child = process_that(path(13), [](FakeAgent& agent, wire::LaneWriter& lane) {
    agent.answer_last_flush_after(300);  // steps are looked for there, too: the file comes first
    train(lane, 5);
  });
  client_->capture(static_cast<std::uint32_t>(child), path(13), true, false);
  const api::Summary summary = wait_for_summary();
  EXPECT_EQ(0, wait_for(child));
  ASSERT_EQ(1u, summary.files.size());
  EXPECT_GE(summary.files[0].steps, 4u) << "all that another one follows";
  EXPECT_THAT(summary.remarks, Contains(HasSubstr("(with Optimizer.step)")));
}

}  // namespace
}  // namespace gpuprof::session
