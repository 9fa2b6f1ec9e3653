// SPDX-License-Identifier: Apache-2.0
//
// Processes that run already and cannot be recorded: nobody answers, or somebody says no.
#include "tests/unit/session/join_requests_fixture.hpp"

namespace gpuprof::session {
namespace {

TEST_F(CapturesTest, NobodyAtTheControlSocketIsAFailureAndEndsTheSession) {
  open();
  const pid_t gone = fork_child([] { ::_exit(0); });
  DaemonTest::wait_for(gone);
  client_->join_process(static_cast<std::uint32_t>(gone), folder_ + "/none.door", true, false);
  const recording::Summary summary = wait_for_summary();
  EXPECT_THAT(summary.failures, Contains(HasSubstr("cannot be recorded: it has ended")));
  EXPECT_THAT(summary.files, IsEmpty());
  EXPECT_THAT(summary.remarks, IsEmpty()) << "no window was ever due";
  EXPECT_THAT(spool_folders(), IsEmpty());
}

TEST_F(CapturesTest, AnotherProgramThanWasMeantIsNotWaitedFor) {
  open();
  const pid_t child = fork_child([] { ::pause(); });
  const std::uint32_t now = support::exec_fingerprint(child), before = now ^ 2;
  ASSERT_NE(now, 0u);
  client_->join_process(static_cast<std::uint32_t>(child), folder_ + "/none.door", true, false,
                        before);
  const recording::Summary summary = wait_for_summary();
  EXPECT_THAT(summary.failures, Contains(HasSubstr("started another program (exec)")));
  ::kill(child, SIGKILL);
  DaemonTest::wait_for(child);
}

TEST_F(CapturesTest, OneThatFailsDoesNotHurtAnother) {
  const recording::Summary summary = retry_with_longer_window(
      [&] {
        open();
        const pid_t child = running_process(path(4));
        client_->join_process(1234, folder_ + "/none.door", true, false);
        client_->join_process(static_cast<std::uint32_t>(child), path(4), true, false);
        recording::Summary output = wait_for_summary();
        EXPECT_EQ(0, wait_for(child));
        return output;
      },
      [](const recording::Summary& output) { return output.files.size() == 1; });
  EXPECT_THAT(summary.failures, Contains(HasSubstr("process 1234")));
  EXPECT_EQ(1u, summary.files.size());
}

TEST_F(CapturesTest, AnotherProcessBehindTheControlSocketIsNotRecorded) {
  open();
  FakeControlSocket control_socket(path(5));
  client_->join_process(static_cast<std::uint32_t>(::getpid()) + 1, control_socket.path(), true,
                        false);
  const recording::Summary summary = wait_for_summary();
  EXPECT_THAT(summary.failures, Contains(HasSubstr("another process listens")));
  EXPECT_EQ(MessageType{}, control_socket.wait_for_request(50)) << "it is told nothing of us";
}

TEST_F(CapturesTest, RefusalIsTheProcessesOwnSentence) {
  open();
  FakeControlSocket control_socket(path(6));
  client_->join_process(static_cast<std::uint32_t>(::getpid()), control_socket.path(), true, true);
  ASSERT_EQ(MessageType::kJoinRequest, control_socket.wait_for_request(kTimeoutMs));
  wire::JoinRequest join{};
  ASSERT_TRUE(control_socket.packet().as(&join));
  EXPECT_NE(0u, join.session);
  EXPECT_NE(0u, join.flags & wire::kJoinThenDetach);
  control_socket.refuse("it is already being recorded");
  const recording::Summary summary = wait_for_summary();
  EXPECT_THAT(summary.failures, Contains(HasSubstr("it is already being recorded")));
}

TEST_F(CapturesTest, SilenceIsGivenUp) {
  open();
  FakeControlSocket control_socket(path(7));
  client_->join_process(static_cast<std::uint32_t>(::getpid()), control_socket.path(), true, false);
  const recording::Summary summary = wait_for_summary();
  EXPECT_THAT(summary.failures, Contains(HasSubstr("its worker thread cannot run")));
}

TEST_F(CapturesTest, AStoppedProcessIsSaidToBeOne) {
  open();
  const std::string control_socket_path = path(16);
  const pid_t child = fork_child([&] {
    FakeControlSocket control_socket(control_socket_path);
    ::raise(SIGSTOP);
  });
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, WUNTRACED));
  client_->join_process(static_cast<std::uint32_t>(child), control_socket_path, true, false);
  const recording::Summary summary = wait_for_summary();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::unlink(control_socket_path.c_str());
  EXPECT_THAT(summary.failures, Contains(HasSubstr("kill -CONT " + std::to_string(child))));
}

}  // namespace
}  // namespace gpuprof::session
