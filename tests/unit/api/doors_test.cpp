// SPDX-License-Identifier: Apache-2.0
//
// Doors are found, asked, and swept away when nobody is behind them.
#include "daemon/api/doors/doors.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "daemon/api/doors/door_call.hpp"
#include "gpuprof/wire/segment.hpp"
#include "tests/fakes/fake_door.hpp"

namespace gpuprof::api {
namespace {

using fakes::FakeDoor;
using testing::HasSubstr;
using wire::MessageType;

const auto kOwn = static_cast<unsigned>(::getpid());

bool listed(std::uint32_t pid) {
  const std::vector<Door> all = find_doors();
  return std::any_of(all.begin(), all.end(), [&](const Door& one) { return one.pid == pid; });
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// Answers one request while the test asks.
template <typename Answer>
std::thread in_background(FakeDoor& door, Answer answer) {
  return std::thread([&door, answer] {
    door.next();
    answer(door);
  });
}

TEST(Doors, AreFoundByFileAndOwner) {
  FakeDoor door(FakeDoor::path_of(kOwn, 1));
  ASSERT_TRUE(door.good());
  EXPECT_EQ(door.path(), door_of(kOwn).path);
  EXPECT_TRUE(listed(kOwn));
  EXPECT_TRUE(is_open(door_of(kOwn)));
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
  std::snprintf(name, sizeof name, wire::kAbstractDoorName, ::geteuid(), kOwn, 7ULL);
  FakeDoor door(name);
  ASSERT_TRUE(door.good());
  EXPECT_EQ(door.path(), door_of(kOwn).path);
  EXPECT_TRUE(listed(kOwn));
}

TEST(Doors, ThatNobodyListensBehindAreRemoved) {
  FakeDoor door(FakeDoor::path_of(kOwn, 2));
  door.die();
  ASSERT_TRUE(exists(door.path()));
  EXPECT_EQ("", door_of(kOwn).path);
  EXPECT_FALSE(exists(door.path()));
  EXPECT_FALSE(listed(kOwn));
}

TEST(Doors, ThatWereNeverFinishedAreRemovedAfterAWhile) {
  FakeDoor door(FakeDoor::path_of(kOwn, 2) + wire::kUnfinishedSuffix);
  door.die();
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
  EXPECT_EQ("", door_of(kOwn + 1).path);
  EXPECT_TRUE(listed(kOwn));
}

TEST(Doors, AStoppedProcessIsFoundAlthoughOthersWaitAlready) {
  FakeDoor door(FakeDoor::path_of(kOwn, 5), 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(listed(kOwn)) << "look " << i;
}

// A worker that lets go of CUPTI does not turn to its door for a second.
TEST(Doors, AreOpenWhileOthersWaitAlready) {
  FakeDoor door(FakeDoor::path_of(kOwn, 11), 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_open({kOwn, door.path()})) << "look " << i;
  std::thread behind =
      in_background(door, [](FakeDoor& asked) { asked.answer(wire::DoorStatus{}); });
  const auto status = ask_status({kOwn, door.path()});
  behind.join();
  EXPECT_TRUE(status.ok()) << status.error().sentence;
  door.die();
  EXPECT_FALSE(is_open({kOwn, door.path()}));
}

TEST(Doors, AreAskedAgainByWhomTheyDidNotHear) {
  FakeDoor door(FakeDoor::path_of(kOwn, 12));
  std::thread behind([&door] {
    for (int i = 0; i < 3; ++i) door.turn_away();
    if (door.next() != MessageType{}) door.answer(wire::DoorStatus{});
  });
  const auto status = ask_status({kOwn, door.path()});
  behind.join();
  EXPECT_TRUE(status.ok()) << status.error().sentence;
}

// Each fork ends the library's thread: on a busy machine none of them lives until it answers.
TEST(Doors, ThatNeverHearUsAreSaidNotToGetToRun) {
  FakeDoor door(FakeDoor::path_of(kOwn, 13));
  std::atomic<bool> over{false};
  std::thread behind([&] {
    while (!over) door.turn_away(50);
  });
  const auto status = ask_status({kOwn, door.path()});
  over = true;
  behind.join();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().sentence, HasSubstr("closed its door ("));
  EXPECT_THAT(status.error().sentence, HasSubstr("does not get to run"));
}

TEST(Doors, StatusIsReadWhole) {
  FakeDoor door(FakeDoor::path_of(kOwn, 6));
  std::thread behind = in_background(door, [](FakeDoor& asked) {
    wire::DoorStatus status{};
    status.state = static_cast<std::uint32_t>(wire::AgentState::kRecording);
    status.in_session = 1;
    status.daemon_pid = 4711;
    status.steps = 5;
    status.dropped = 6;
    status.worker_cpu_ns = 7;
    const std::string text = "name=job\npython=11\ncuda=1\nnvtx=0\nattached=1\nlater=x\n";
    status.text_bytes = static_cast<std::uint32_t>(text.size());
    asked.answer(status, text);
  });
  const auto status = ask_status({kOwn, door.path()});
  behind.join();
  ASSERT_TRUE(status.ok()) << status.error().sentence;
  const ProcessStatus& said = status.value();
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
  std::thread behind =
      in_background(door, [](FakeDoor& asked) { asked.refuse("nothing is recorded there"); });
  const auto stopped = ask_stop({kOwn, door.path()});
  behind.join();
  ASSERT_FALSE(stopped.ok());
  EXPECT_THAT(stopped.error().sentence, HasSubstr("nothing is recorded there"));
  EXPECT_THAT(stopped.error().sentence, HasSubstr(std::to_string(kOwn)));
  EXPECT_EQ(MessageType::kDoorStop, door.packet().type);
}

TEST(Doors, DetachWaitsUntilItIsDone) {
  FakeDoor door(FakeDoor::path_of(kOwn, 8));
  std::thread behind = in_background(door, [](FakeDoor& asked) {
    ::usleep(200'000);
    asked.answer(wire::DoorDone{1});
  });
  EXPECT_TRUE(ask_detach({kOwn, door.path()}).ok());
  behind.join();
  EXPECT_EQ(MessageType::kDoorDetach, door.packet().type);
}

TEST(Doors, AnotherVersionIsNamed) {
  FakeDoor door(FakeDoor::path_of(kOwn, 9));
  std::thread behind =
      in_background(door, [](FakeDoor& asked) { asked.answer(wire::DoorStatus{}, "", true); });
  const auto status = ask_status({kOwn, door.path()});
  behind.join();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().sentence, HasSubstr("another version"));
}

TEST(Doors, SilenceIsSaidToBeAStoppedProcess) {
  FakeDoor door(FakeDoor::path_of(kOwn, 10));
  const auto status = ask_status({kOwn, door.path()});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().sentence, HasSubstr("kill -CONT " + std::to_string(kOwn)));
}

TEST(Doors, NobodyThereIsSaid) {
  const auto status = ask_status({kOwn, "/tmp/no-such-folder/1-2.door"});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().sentence, HasSubstr("does not answer at its door"));
  EXPECT_THAT(status.error().sentence, HasSubstr("does not get to run"));
}

TEST(Doors, AThreadThatAForkHasAwayIsWaitedFor) {
  const std::string path = FakeDoor::path_of(kOwn, 21);
  {
    FakeDoor(path).die();
    ASSERT_FALSE(exists(path));
  }
  std::thread behind([&path] {
    // The first knocks find nobody.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    FakeDoor door(path);
    door.next();
    door.answer(wire::DoorStatus{}, "name=forks\n");
  });
  const auto status = ask_status({kOwn, path});
  behind.join();
  ASSERT_TRUE(status.ok()) << status.error().sentence;
  EXPECT_EQ("forks", status.value().name);
}

TEST(Doors, OfAProgramThatAnotherOneTookThePlaceOfAreNotWaitedFor) {
  const Door door{kOwn, "/tmp/no-such-folder/1-2.door", 12345};
  const auto status = ask_status(door);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().sentence, HasSubstr("has started another program (exec)"));
}

}  // namespace
}  // namespace gpuprof::api
