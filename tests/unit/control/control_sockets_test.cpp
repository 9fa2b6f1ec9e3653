// SPDX-License-Identifier: Apache-2.0
//
// Control sockets are found, asked, and swept away when nobody is behind them.
#include "daemon/control/control_sockets.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "daemon/control/control_request.hpp"
#include "gpuprof/wire/segment.hpp"
#include "tests/fakes/fake_control_socket.hpp"

namespace gpuprof::control {
namespace {

using fakes::FakeControlSocket;
using testing::HasSubstr;
using wire::MessageType;

const auto kOwn = static_cast<unsigned>(::getpid());

bool listed(std::uint32_t pid) {
  const std::vector<ControlSocket> all = find_control_sockets();
  return std::any_of(all.begin(), all.end(),
                     [&](const ControlSocket& one) { return one.pid == pid; });
}

/// A child that sleeps, spins or is stopped until the test is over.
class Child {
 public:
  enum Does { kSleeps, kSpins, kStops };
  explicit Child(Does does) : pid_(::fork()) {
    while (pid_ == 0)
      if (does == kSleeps) ::pause();
    if (does != kStops) return;
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  ~Child() { end(); }
  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  unsigned pid() const { return static_cast<unsigned>(pid_); }

 private:
  pid_t pid_;
};

const auto kStatus = [](const ControlSocket& control_socket) {
  return request_status(control_socket);
};

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// What ask() says while the control socket answers; asked again while the control socket had no
/// processor for so long that it is taken for a stopped process's.
template <typename Answer, typename Ask>
auto answered(FakeControlSocket& control_socket, Answer answer, Ask ask) {
  constexpr int kTries = 20, kTimeoutMs = 300'000;
  for (int turn = 1;; ++turn) {
    std::thread behind([&] {
      if (control_socket.wait_for_request(kTimeoutMs) != MessageType{}) answer(control_socket);
    });
    auto output = ask(ControlSocket{kOwn, control_socket.path()});
    behind.join();
    if (output || turn == kTries || output.error().message.find("does not") == std::string::npos)
      return output;
  }
}

TEST(ControlSockets, AreFoundByFileAndOwner) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 1));
  ASSERT_TRUE(control_socket.good());
  EXPECT_EQ(control_socket.path(), control_socket_of(kOwn).path);
  EXPECT_TRUE(listed(kOwn));
  EXPECT_TRUE(is_listening(control_socket_of(kOwn)));
}

// Whoever is in another container has no number here; his control socket must not look refused for
// an error of long ago.
TEST(ControlSockets, AnOldErrorIsNotThatOfAnOpenControlSocket) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 3));
  ASSERT_TRUE(control_socket.good());
  errno = ECONNREFUSED;
  int failure = -1;
  EXPECT_EQ(kOwn, listener_of(control_socket.path(), &failure));
  EXPECT_EQ(0, failure);
}

TEST(ControlSockets, AreFoundByAbstractName) {
  char name[64];
  std::snprintf(name, sizeof name, wire::kAbstractSocketName, ::geteuid(), kOwn, 7ULL);
  FakeControlSocket control_socket(name);
  ASSERT_TRUE(control_socket.good());
  EXPECT_EQ(control_socket.path(), control_socket_of(kOwn).path);
  EXPECT_TRUE(listed(kOwn));
}

TEST(ControlSockets, ThatNobodyListensBehindAreRemoved) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 2));
  control_socket.stop_listening();
  ASSERT_TRUE(exists(control_socket.path()));
  EXPECT_EQ("", control_socket_of(kOwn).path);
  EXPECT_FALSE(exists(control_socket.path()));
  EXPECT_FALSE(listed(kOwn));
}

TEST(ControlSockets, ThatWereNeverFinishedAreRemovedAfterAWhile) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 2) + wire::kNotListeningSuffix);
  control_socket.stop_listening();
  EXPECT_FALSE(listed(kOwn));
  EXPECT_TRUE(exists(control_socket.path())) << "its process may be about to";
  const timespec long_ago[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(0, ::utimensat(AT_FDCWD, control_socket.path().c_str(), long_ago, AT_SYMLINK_NOFOLLOW));
  EXPECT_FALSE(listed(kOwn));
  EXPECT_FALSE(exists(control_socket.path()));
}

TEST(ControlSockets, OtherFilesThereAreLeftAlone) {
  const std::string other = FakeControlSocket::path_of(kOwn, 3) + ".txt";
  std::ofstream(other) << "not a control socket";
  EXPECT_FALSE(listed(kOwn));
  EXPECT_TRUE(exists(other));
  ::unlink(other.c_str());
}

// Its process may have ended, and its id be another's: who listens counts, not the name.
TEST(ControlSockets, BelongToWhoListensNotToTheNumberInTheName) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn + 1, 4));
  EXPECT_EQ("", control_socket_of(kOwn + 1).path);
  EXPECT_TRUE(listed(kOwn));
}

TEST(ControlSockets, AStoppedProcessIsFoundAlthoughOthersWaitAlready) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 5), 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(listed(kOwn)) << "look " << i;
}

// A worker that releases CUPTI does not turn to its control socket for a second.
TEST(ControlSockets, ACrowdedAbstractNameIsThatOfTheProcessItStandsFor) {
  char name[64];
  std::snprintf(name, sizeof name, wire::kAbstractSocketName, ::geteuid(), kOwn, 19ULL);
  FakeControlSocket control_socket(name, 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(listed(kOwn)) << "look " << i;
}

TEST(ControlSockets, AreOpenWhileOthersWaitAlready) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 11), 0);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(is_listening({kOwn, control_socket.path()})) << "look " << i;
  const auto status = answered(
      control_socket, [](FakeControlSocket& asked) { asked.reply(wire::StatusReply{}); }, kStatus);
  EXPECT_TRUE(status.ok()) << status.error().message;
  control_socket.stop_listening();
  EXPECT_FALSE(is_listening({kOwn, control_socket.path()}));
}

TEST(ControlSockets, AreAskedAgainByWhomTheyDidNotHear) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 12));
  std::thread behind([&control_socket] {
    for (int i = 0; i < 3; ++i) control_socket.reject_next();
    if (control_socket.wait_for_request() != MessageType{})
      control_socket.reply(wire::StatusReply{});
  });
  const auto status = request_status({kOwn, control_socket.path()});
  behind.join();
  EXPECT_TRUE(status.ok()) << status.error().message;
}

// Each fork ends the library's thread: on a busy machine none of them lives until it answers.
TEST(ControlSockets, ThatNeverHearUsAreSaidNotToGetToRun) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 13));
  std::atomic<bool> over{false};
  std::thread behind([&] {
    while (!over) control_socket.reject_next(50);
  });
  bool silent = false;
  const auto status = request_status({kOwn, control_socket.path()}, &silent);
  over = true;
  behind.join();
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(silent);
  EXPECT_THAT(status.error().message, HasSubstr("closed its control socket ("));
  EXPECT_THAT(status.error().message, HasSubstr("its worker thread cannot run"));
}

TEST(ControlSockets, StatusIsReadWhole) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 6));
  const auto reported_all = [](FakeControlSocket& asked) {
    wire::StatusReply status{};
    status.state = static_cast<std::uint32_t>(wire::AgentState::kRecording);
    status.in_session = 1;
    status.daemon_pid = 4711;
    status.steps = 5;
    status.dropped = 6;
    status.worker_cpu_ns = 7;
    const std::string text = "name=job\npython=11\ncuda=1\nnvtx=0\nattached=1\nlater=x\n";
    status.text_bytes = static_cast<std::uint32_t>(text.size());
    asked.reply(status, text);
  };
  const auto status = answered(control_socket, reported_all, kStatus);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const TargetStatus& output = status.value();
  EXPECT_EQ("job", output.name);
  EXPECT_EQ("recording", output.state);
  EXPECT_TRUE(output.in_session && output.cuda && output.attached);
  EXPECT_FALSE(output.nvtx);
  EXPECT_EQ(4711u, output.daemon_pid);
  EXPECT_EQ(5u, output.steps);
  EXPECT_EQ(6u, output.dropped);
  EXPECT_EQ(7u, output.worker_cpu_ns);
  EXPECT_GT(output.age_ns, 0u);
}

TEST(ControlSockets, ARefusalIsTheProcessesOwnSentence) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 7));
  const auto stopped = answered(
      control_socket, [](FakeControlSocket& asked) { asked.refuse("nothing is recorded there"); },
      request_stop);
  ASSERT_FALSE(stopped.ok());
  EXPECT_THAT(stopped.error().message, HasSubstr("nothing is recorded there"));
  EXPECT_THAT(stopped.error().message, HasSubstr(std::to_string(kOwn)));
  EXPECT_EQ(MessageType::kStopRequest, control_socket.packet().type);
}

TEST(ControlSockets, DetachWaitsUntilItIsDone) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 8));
  const auto late = [](FakeControlSocket& asked) {
    ::usleep(200'000);
    asked.reply(wire::RequestDone{1});
  };
  EXPECT_TRUE(answered(control_socket, late, request_detach).ok());
  EXPECT_EQ(MessageType::kDetachRequest, control_socket.packet().type);
}

TEST(ControlSockets, AnotherVersionIsNamed) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 9));
  const auto status = answered(
      control_socket, [](FakeControlSocket& asked) { asked.reply(wire::StatusReply{}, "", true); },
      kStatus);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("another version"));
}

TEST(ControlSockets, SilenceOfAStoppedProcessIsToldFromThatOfAnother) {
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 10)),
      crowded(FakeControlSocket::path_of(kOwn, 14), 0);
  const Child stopped(Child::kStops), sleeping(Child::kSleeps);
  ASSERT_TRUE(is_listening({stopped.pid(), crowded.path()})) << "who looked waits there for good";
  for (const std::string& path : {control_socket.path(), crowded.path()}) {
    for (const Child* child : {&stopped, &sleeping}) {
      bool silent = false;
      const auto status = request_status({child->pid(), path}, &silent);
      ASSERT_FALSE(status.ok());
      EXPECT_TRUE(silent);
      const auto says_stopped = HasSubstr("kill -CONT " + std::to_string(child->pid()));
      if (child == &stopped)
        EXPECT_THAT(status.error().message, says_stopped);
      else
        EXPECT_THAT(status.error().message, HasSubstr("cannot run, for example on a busy machine"));
    }
  }
}

TEST(ControlSockets, OfWhoHasEndedOrLetGoOrRefusesAreNotSilent) {
  bool silent = true;
  ASSERT_FALSE(request_status({kOwn, "/tmp/no-such-folder/1-2.door"}, &silent).ok());
  EXPECT_FALSE(silent) << "nobody listens";
  FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 15));
  Child child(Child::kSleeps);
  const ControlSocket of_ended{child.pid(), control_socket.path()};
  child.end();
  ASSERT_FALSE(request_status(of_ended, &silent).ok());
  EXPECT_FALSE(silent) << "ended";
  FakeControlSocket refusing(FakeControlSocket::path_of(kOwn, 16));
  const auto status = answered(
      refusing, [](FakeControlSocket& asked) { asked.refuse("no"); },
      [&silent](const ControlSocket& one) {
        silent = true;
        return request_status(one, &silent);
      });
  ASSERT_FALSE(status.ok());
  EXPECT_FALSE(silent) << status.error().message;
}

// Two are asked at once, the busy one first: it answers when the other one was given up twice.
TEST(ControlSockets, OfABusyProcessAreWaitedForLonger) {
  constexpr int kTries = 5;
  bool answered = false;
  for (int turn = 0; turn < kTries && !answered; ++turn) {
    FakeControlSocket control_socket(FakeControlSocket::path_of(kOwn, 17)),
        never(FakeControlSocket::path_of(kOwn, 18));
    const Child busy(Child::kSpins), sleeping(Child::kSleeps);
    std::thread asks([&] { answered = request_status({busy.pid(), control_socket.path()}).ok(); });
    const bool heard = control_socket.wait_for_request() != MessageType{};
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(request_status({sleeping.pid(), never.path()}).ok());
    if (heard) control_socket.reply(wire::StatusReply{});
    asks.join();
  }
  EXPECT_TRUE(answered);
}

TEST(ControlSockets, NobodyThereIsSaid) {
  const auto status = request_status({kOwn, "/tmp/no-such-folder/1-2.door"});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("does not respond on its control socket"));
  EXPECT_THAT(status.error().message, HasSubstr("its worker thread cannot run"));
}

TEST(ControlSockets, AThreadThatAForkHasAwayIsWaitedFor) {
  const std::string path = FakeControlSocket::path_of(kOwn, 21);
  {
    FakeControlSocket(path).stop_listening();
    ASSERT_FALSE(exists(path));
  }
  std::thread behind([&path] {
    // The first connects find nobody.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    FakeControlSocket control_socket(path);
    control_socket.wait_for_request();
    control_socket.reply(wire::StatusReply{}, "name=forks\n");
  });
  const auto status = request_status({kOwn, path});
  behind.join();
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ("forks", status.value().name);
}

TEST(ControlSockets, OfAProgramThatAnotherOneTookThePlaceOfAreNotWaitedFor) {
  const ControlSocket control_socket{kOwn, "/tmp/no-such-folder/1-2.door", 12345};
  const auto status = request_status(control_socket);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("has started another program (exec)"));
}

}  // namespace
}  // namespace gpuprof::control
