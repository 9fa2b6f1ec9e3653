// SPDX-License-Identifier: Apache-2.0
//
// Doors are found, asked, and swept away when nobody is behind them.
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
#include "tests/fakes/fake_door.hpp"

namespace gpuprof::control {
namespace {

using fakes::FakeDoor;
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

const auto kStatus = [](const ControlSocket& door) { return request_status(door); };

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// What ask() says while the door answers; asked again while the door had no processor for so long
/// that it is taken for a stopped process's.
template <typename Answer, typename Ask>
auto answered(FakeDoor& door, Answer answer, Ask ask) {
  constexpr int kTries = 20, kPatienceMs = 300'000;
  for (int turn = 1;; ++turn) {
    std::thread behind([&] {
      if (door.wait_for_request(kPatienceMs) != MessageType{}) answer(door);
    });
    auto said = ask(ControlSocket{kOwn, door.path()});
    behind.join();
    if (said || turn == kTries || said.error().message.find("does not answer") == std::string::npos)
      return said;
  }
}

TEST(Doors, AreFoundByFileAndOwner) {
  FakeDoor door(FakeDoor::path_of(kOwn, 1));
  ASSERT_TRUE(door.good());
  EXPECT_EQ(door.path(), control_socket_of(kOwn).path);
  EXPECT_TRUE(listed(kOwn));
  EXPECT_TRUE(is_listening(control_socket_of(kOwn)));
}

// Whoever is in another container has no number here; his door must not look refused for an error
// of long ago.
TEST(Doors, AnOldErrorIsNotThatOfAnOpenDoor) {
  FakeDoor door(FakeDoor::path_of(kOwn, 3));
  ASSERT_TRUE(door.good());
  errno = ECONNREFUSED;
  int failure = -1;
  EXPECT_EQ(kOwn, listener_of(door.path(), &failure));
  EXPECT_EQ(0, failure);
}

TEST(Doors, AreFoundByAbstractName) {
  char name[64];
  std::snprintf(name, sizeof name, wire::kAbstractSocketName, ::geteuid(), kOwn, 7ULL);
  FakeDoor door(name);
  ASSERT_TRUE(door.good());
  EXPECT_EQ(door.path(), control_socket_of(kOwn).path);
  EXPECT_TRUE(listed(kOwn));
}

TEST(Doors, ThatNobodyListensBehindAreRemoved) {
  FakeDoor door(FakeDoor::path_of(kOwn, 2));
  door.stop_listening();
  ASSERT_TRUE(exists(door.path()));
  EXPECT_EQ("", control_socket_of(kOwn).path);
  EXPECT_FALSE(exists(door.path()));
  EXPECT_FALSE(listed(kOwn));
}

TEST(Doors, ThatWereNeverFinishedAreRemovedAfterAWhile) {
  FakeDoor door(FakeDoor::path_of(kOwn, 2) + wire::kNotListeningSuffix);
  door.stop_listening();
  EXPECT_FALSE(listed(kOwn));
  EXPECT_TRUE(exists(door.path())) << "its process may be about to";
  const timespec long_ago[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(0, ::utimensat(AT_FDCWD, door.path().c_str(), long_ago, AT_SYMLINK_NOFOLLOW));
  EXPECT_FALSE(listed(kOwn));
  EXPECT_FALSE(exists(door.path()));
}

TEST(Doors, OtherFilesThereAreLeftAlone) {
  const std::string other = FakeDoor::path_of(kOwn, 3) + ".txt";
  std::ofstream(other) << "not a door";
  EXPECT_FALSE(listed(kOwn));
  EXPECT_TRUE(exists(other));
  ::unlink(other.c_str());
}

// Its process may have ended, and its id be another's: who listens counts, not the name.
TEST(Doors, BelongToWhoListensNotToTheNumberInTheName) {
  FakeDoor door(FakeDoor::path_of(kOwn + 1, 4));
  EXPECT_EQ("", control_socket_of(kOwn + 1).path);
  EXPECT_TRUE(listed(kOwn));
}

TEST(Doors, AStoppedProcessIsFoundAlthoughOthersWaitAlready) {
  FakeDoor door(FakeDoor::path_of(kOwn, 5), 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(listed(kOwn)) << "look " << i;
}

// A worker that lets go of CUPTI does not turn to its door for a second.
TEST(Doors, ACrowdedAbstractNameIsThatOfTheProcessItStandsFor) {
  char name[64];
  std::snprintf(name, sizeof name, wire::kAbstractSocketName, ::geteuid(), kOwn, 19ULL);
  FakeDoor door(name, 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(listed(kOwn)) << "look " << i;
}

TEST(Doors, AreOpenWhileOthersWaitAlready) {
  FakeDoor door(FakeDoor::path_of(kOwn, 11), 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_listening({kOwn, door.path()})) << "look " << i;
  const auto status = answered(
      door, [](FakeDoor& asked) { asked.reply(wire::StatusReply{}); }, kStatus);
  EXPECT_TRUE(status.ok()) << status.error().message;
  door.stop_listening();
  EXPECT_FALSE(is_listening({kOwn, door.path()}));
}

TEST(Doors, AreAskedAgainByWhomTheyDidNotHear) {
  FakeDoor door(FakeDoor::path_of(kOwn, 12));
  std::thread behind([&door] {
    for (int i = 0; i < 3; ++i) door.reject_next();
    if (door.wait_for_request() != MessageType{}) door.reply(wire::StatusReply{});
  });
  const auto status = request_status({kOwn, door.path()});
  behind.join();
  EXPECT_TRUE(status.ok()) << status.error().message;
}

// Each fork ends the library's thread: on a busy machine none of them lives until it answers.
TEST(Doors, ThatNeverHearUsAreSaidNotToGetToRun) {
  FakeDoor door(FakeDoor::path_of(kOwn, 13));
  std::atomic<bool> over{false};
  std::thread behind([&] {
    while (!over) door.reject_next(50);
  });
  bool silent = false;
  const auto status = request_status({kOwn, door.path()}, &silent);
  over = true;
  behind.join();
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(silent);
  EXPECT_THAT(status.error().message, HasSubstr("closed its door ("));
  EXPECT_THAT(status.error().message, HasSubstr("does not get to run"));
}

TEST(Doors, StatusIsReadWhole) {
  FakeDoor door(FakeDoor::path_of(kOwn, 6));
  const auto said_all = [](FakeDoor& asked) {
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
  const auto status = answered(door, said_all, kStatus);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const TargetStatus& said = status.value();
  EXPECT_EQ("job", said.name);
  EXPECT_EQ("recording", said.state);
  EXPECT_TRUE(said.in_session && said.cuda && said.attached);
  EXPECT_FALSE(said.nvtx);
  EXPECT_EQ(4711u, said.daemon_pid);
  EXPECT_EQ(5u, said.steps);
  EXPECT_EQ(6u, said.dropped);
  EXPECT_EQ(7u, said.worker_cpu_ns);
  EXPECT_GT(said.age_ns, 0u);
}

TEST(Doors, ARefusalIsTheProcessesOwnSentence) {
  FakeDoor door(FakeDoor::path_of(kOwn, 7));
  const auto stopped = answered(
      door, [](FakeDoor& asked) { asked.refuse("nothing is recorded there"); }, request_stop);
  ASSERT_FALSE(stopped.ok());
  EXPECT_THAT(stopped.error().message, HasSubstr("nothing is recorded there"));
  EXPECT_THAT(stopped.error().message, HasSubstr(std::to_string(kOwn)));
  EXPECT_EQ(MessageType::kStopRequest, door.packet().type);
}

TEST(Doors, DetachWaitsUntilItIsDone) {
  FakeDoor door(FakeDoor::path_of(kOwn, 8));
  const auto late = [](FakeDoor& asked) {
    ::usleep(200'000);
    asked.reply(wire::RequestDone{1});
  };
  EXPECT_TRUE(answered(door, late, request_detach).ok());
  EXPECT_EQ(MessageType::kDetachRequest, door.packet().type);
}

TEST(Doors, AnotherVersionIsNamed) {
  FakeDoor door(FakeDoor::path_of(kOwn, 9));
  const auto status = answered(
      door, [](FakeDoor& asked) { asked.reply(wire::StatusReply{}, "", true); }, kStatus);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("another version"));
}

TEST(Doors, SilenceOfAStoppedProcessIsToldFromThatOfAnother) {
  FakeDoor door(FakeDoor::path_of(kOwn, 10)), crowded(FakeDoor::path_of(kOwn, 14), 0);
  const Child stopped(Child::kStops), sleeping(Child::kSleeps);
  ASSERT_TRUE(is_listening({stopped.pid(), crowded.path()})) << "who looked waits there for good";
  for (const std::string& path : {door.path(), crowded.path()}) {
    for (const Child* child : {&stopped, &sleeping}) {
      bool silent = false;
      const auto status = request_status({child->pid(), path}, &silent);
      ASSERT_FALSE(status.ok());
      EXPECT_TRUE(silent);
      const auto says_stopped = HasSubstr("kill -CONT " + std::to_string(child->pid()));
      if (child == &stopped)
        EXPECT_THAT(status.error().message, says_stopped);
      else
        EXPECT_THAT(status.error().message, HasSubstr("does not get to run, as on a busy machine"));
    }
  }
}

TEST(Doors, OfWhoHasEndedOrLetGoOrRefusesAreNotSilent) {
  bool silent = true;
  ASSERT_FALSE(request_status({kOwn, "/tmp/no-such-folder/1-2.door"}, &silent).ok());
  EXPECT_FALSE(silent) << "nobody listens";
  FakeDoor door(FakeDoor::path_of(kOwn, 15));
  Child child(Child::kSleeps);
  const ControlSocket of_ended{child.pid(), door.path()};
  child.end();
  ASSERT_FALSE(request_status(of_ended, &silent).ok());
  EXPECT_FALSE(silent) << "ended";
  FakeDoor refusing(FakeDoor::path_of(kOwn, 16));
  const auto status = answered(
      refusing, [](FakeDoor& asked) { asked.refuse("no"); },
      [&silent](const ControlSocket& one) {
        silent = true;
        return request_status(one, &silent);
      });
  ASSERT_FALSE(status.ok());
  EXPECT_FALSE(silent) << status.error().message;
}

// Two are asked at once, the busy one first: it answers when the other one was given up twice.
TEST(Doors, OfABusyProcessAreWaitedForLonger) {
  constexpr int kTries = 5;
  bool answered = false;
  for (int turn = 0; turn < kTries && !answered; ++turn) {
    FakeDoor door(FakeDoor::path_of(kOwn, 17)), never(FakeDoor::path_of(kOwn, 18));
    const Child busy(Child::kSpins), sleeping(Child::kSleeps);
    std::thread asks([&] { answered = request_status({busy.pid(), door.path()}).ok(); });
    const bool heard = door.wait_for_request() != MessageType{};
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(request_status({sleeping.pid(), never.path()}).ok());
    if (heard) door.reply(wire::StatusReply{});
    asks.join();
  }
  EXPECT_TRUE(answered);
}

TEST(Doors, NobodyThereIsSaid) {
  const auto status = request_status({kOwn, "/tmp/no-such-folder/1-2.door"});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("does not answer at its door"));
  EXPECT_THAT(status.error().message, HasSubstr("does not get to run"));
}

TEST(Doors, AThreadThatAForkHasAwayIsWaitedFor) {
  const std::string path = FakeDoor::path_of(kOwn, 21);
  {
    FakeDoor(path).stop_listening();
    ASSERT_FALSE(exists(path));
  }
  std::thread behind([&path] {
    // The first knocks find nobody.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    FakeDoor door(path);
    door.wait_for_request();
    door.reply(wire::StatusReply{}, "name=forks\n");
  });
  const auto status = request_status({kOwn, path});
  behind.join();
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ("forks", status.value().name);
}

TEST(Doors, OfAProgramThatAnotherOneTookThePlaceOfAreNotWaitedFor) {
  const ControlSocket door{kOwn, "/tmp/no-such-folder/1-2.door", 12345};
  const auto status = request_status(door);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("has started another program (exec)"));
}

}  // namespace
}  // namespace gpuprof::control
