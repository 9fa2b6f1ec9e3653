// SPDX-License-Identifier: Apache-2.0
//
// Which running processes a command line means: ids, names, children, all.
#include "cli/target/target_selection.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "cli/options/command_table.hpp"
#include "gpuprof/wire/segment.hpp"
#include "tests/fakes/fake_control_socket.hpp"

namespace gpuprof::cli {
namespace {

using fakes::FakeControlSocket;
using testing::ElementsAre;
using testing::HasSubstr;
using wire::AgentState;

const auto kOwn = static_cast<std::uint32_t>(::getpid());

/// A child that sleeps until the test is over.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::pause();
    ::_exit(0);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 private:
  pid_t pid_;
};

/// This process as one that has the library in it: answers queries until it goes.
class Answering {
 public:
  Answering(const std::string& name, AgentState state, bool in_session)
      : control_socket_(FakeControlSocket::path_of(kOwn, 77)),
        thread_([this, name, state, in_session] {
          while (!over_) {
            if (control_socket_.wait_for_request(20) != wire::MessageType::kStatusRequest) continue;
            wire::StatusReply status{};
            status.state = static_cast<std::uint32_t>(state);
            status.in_session = in_session ? 1 : 0;
            status.daemon_pid = 4711;
            const std::string text = "name=" + name + "\n";
            status.text_bytes = static_cast<std::uint32_t>(text.size());
            control_socket_.reply(status, text);
          }
        }) {}
  ~Answering() {
    over_ = true;
    thread_.join();
  }

 private:
  FakeControlSocket control_socket_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// A child with a control socket at which it does something, or nothing, and then sleeps.
class Behind {
 public:
  explicit Behind(const std::function<void(FakeControlSocket&)>& does = [](FakeControlSocket&) {}) {
    int ready[2];
    EXPECT_EQ(0, ::pipe(ready));
    pid_ = ::fork();
    if (pid_ == 0) {
      FakeControlSocket control_socket(
          FakeControlSocket::path_of(static_cast<unsigned>(::getpid()), 78));
      ::write(ready[1], "", 1);
      does(control_socket);
      for (;;) ::pause();
    }
    char byte;
    EXPECT_EQ(1, ::read(ready[0], &byte, 1));
    ::close(ready[0]), ::close(ready[1]);
  }
  ~Behind() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::unlink(FakeControlSocket::path_of(pid(), 78).c_str());
  }
  unsigned pid() const { return static_cast<unsigned>(pid_); }
  /// What is said where it does not answer; at its control socket, where others wait there already.
  std::string silence() const { return "process " + std::to_string(pid()) + " does not "; }

 private:
  pid_t pid_ = 0;
};

bool any_has(const std::vector<std::string>& messages, const std::string& part) {
  return std::any_of(messages.begin(), messages.end(),
                     [&](const auto& one) { return one.find(part) != std::string::npos; });
}

Options with_words(std::vector<std::string> words) {
  Options options;
  options.arguments = std::move(words);
  return options;
}

std::string message(const Options& options) {
  const auto selected = select_pids(options, "attach");
  return selected ? "" : selected.error().message;
}

TEST(Chosen, IdsComeInOrderAndEachOnce) {
  const Child child;
  Options options = with_words({std::to_string(child.pid()), std::to_string(kOwn)});
  options.pids = {kOwn, kOwn};
  const auto selected = select_pids(options, "attach");
  ASSERT_TRUE(selected.ok()) << selected.error().message;
  EXPECT_THAT(selected.value(), ElementsAre(kOwn, child.pid()));
}

TEST(Chosen, SeveralIdsMayStandInOneWord) {
  const Child child;
  const std::string both = std::to_string(kOwn) + "," + std::to_string(child.pid());
  const auto selected = select_pids(with_words({both}), "attach");
  ASSERT_TRUE(selected.ok()) << selected.error().message;
  EXPECT_THAT(selected.value(), ElementsAre(kOwn, child.pid()));
  for (const char* word : {"1,", ",1", "1,,1", "1,job"})
    EXPECT_THAT(message(with_words({word})), HasSubstr("is not a process id")) << word;
}

TEST(Chosen, ChildrenComeBehindTheirParents) {
  const Child child, other;
  Options options = with_words({std::to_string(kOwn)});
  options.children = true;
  const auto selected = select_pids(options, "attach");
  ASSERT_TRUE(selected.ok());
  EXPECT_THAT(selected.value(), ElementsAre(kOwn, std::min(child.pid(), other.pid()),
                                            std::max(child.pid(), other.pid())));
}

TEST(Chosen, RefusesWhatIsNoProcess) {
  EXPECT_THAT(message(with_words({})), HasSubstr("needs a process: gpuprof attach PID"));
  EXPECT_THAT(message(with_words({"job"})), HasSubstr("'job' is not a process id"));
  EXPECT_THAT(message(with_words({"0"})), HasSubstr("'0' is not a process id"));
  EXPECT_THAT(message(with_words({"-5"})), HasSubstr("'-5' is not a process id"));
  EXPECT_THAT(message(with_words({"99999999999999999999"})), HasSubstr("is not a process id"));
  pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  EXPECT_THAT(message(with_words({std::to_string(gone)})),
              HasSubstr("process " + std::to_string(gone) + " does not exist"));
}

TEST(Chosen, AProcessIsFoundByIdAndByName) {
  const Answering process("chosen-test", AgentState::kArmed, false);
  for (const std::string& word : {std::to_string(kOwn), std::string("chosen-test")}) {
    const auto found = select_processes(with_words({word}), "capture");
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_EQ(1u, found.value().selected.size());
    EXPECT_EQ(kOwn, found.value().selected[0].control_socket.pid);
    EXPECT_TRUE(found.value().selected[0].named);
  }
}

TEST(Chosen, SeveralIdsInOneWordAreFound) {
  const Answering process("chosen-test", AgentState::kArmed, false);
  const std::string twice = std::to_string(kOwn) + "," + std::to_string(kOwn);
  const auto found = select_processes(with_words({twice}), "capture");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(1u, found.value().selected.size());
}

TEST(Chosen, OneMeantTwiceIsFoundOnce) {
  const Answering process("chosen-test", AgentState::kArmed, false);
  const auto found = select_processes(with_words({"chosen-test", std::to_string(kOwn)}), "stop");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(1u, found.value().selected.size());
}

TEST(Chosen, WhatAllFindsIsNotNamed) {
  const Answering process("chosen-test", AgentState::kArmed, false);
  Options options;
  options.all = true;
  const auto found = select_processes(options, "capture");
  ASSERT_TRUE(found.ok()) << found.error().message;
  bool seen = false;
  for (const SelectedProcess& one : found.value().selected) {
    seen = seen || one.control_socket.pid == kOwn;
    EXPECT_FALSE(one.named);
  }
  EXPECT_TRUE(seen);
}

TEST(Chosen, ChildrenWithoutTheLibraryAreLeftOut) {
  const Answering process("chosen-test", AgentState::kArmed, false);
  const Child child;
  Options options = with_words({std::to_string(kOwn)});
  options.children = true;
  const auto found = select_processes(options, "capture");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(1u, found.value().selected.size());
}

TEST(Chosen, AProcessWithoutTheLibraryIsToldFromNone) {
  const Child child;
  const auto without = select_processes(with_words({std::to_string(child.pid())}), "capture");
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().message, HasSubstr("gpuprof attach " + std::to_string(child.pid())));
  const auto nobody = select_processes(with_words({"no-such-name"}), "capture");
  ASSERT_FALSE(nobody.ok());
  EXPECT_THAT(nobody.error().message, HasSubstr("no process is named 'no-such-name'"));
}

TEST(Chosen, WhoDoesNotAnswerMayBeTheOneThatIsNamed) {
  const Behind silent;
  const auto nobody = select_processes(with_words({"no-such-name"}), "capture");
  ASSERT_FALSE(nobody.ok());
  EXPECT_THAT(nobody.error().message,
              HasSubstr("no process is named 'no-such-name', unless it is one that does not "
                        "respond: "));
  const Answering process("chosen-test", AgentState::kArmed, false);
  const auto found = select_processes(with_words({"chosen-test"}), "capture");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(1u, found.value().selected.size());
  EXPECT_TRUE(found.value().unresponsive.empty());
  EXPECT_TRUE(any_has(selection_notes(found.value()),
                      "skipped a process that may have the name: " + silent.silence()));
}

TEST(Chosen, OfAllWhoDoesNotAnswerIsTold) {
  const Behind silent;
  const Answering process("chosen-test", AgentState::kArmed, false);
  Options options;
  options.all = true;
  const auto found = select_processes(options, "capture");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_TRUE(any_has(found.value().unresponsive, silent.silence()));
  EXPECT_TRUE(unresponsive_error(found.value()));
}

TEST(Chosen, AChildThatDoesNotAnswerIsToldAndTheOthersAreFound) {
  const Answering process("chosen-test", AgentState::kArmed, false);
  const Behind silent;
  Options options = with_words({std::to_string(kOwn)});
  options.children = true;
  const auto found = select_processes(options, "capture");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(1u, found.value().selected.size());
  EXPECT_TRUE(any_has(found.value().unresponsive, silent.silence()));
}

TEST(Chosen, WhoRefusesIsNotSilent) {
  const Behind refusing([](FakeControlSocket& control_socket) {
    for (;;)
      if (control_socket.wait_for_request() != wire::MessageType{}) control_socket.refuse("no");
  });
  const Answering process("chosen-test", AgentState::kArmed, false);
  const auto found = select_processes(with_words({"chosen-test"}), "capture");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_FALSE(
      any_has(selection_notes(found.value()), "process " + std::to_string(refusing.pid())));
}

TEST(Chosen, WhoFallsSilentIsNotSaidToBeStopped) {
  const Behind recorded([](FakeControlSocket& control_socket) {
    while (control_socket.wait_for_request() != wire::MessageType::kStatusRequest) continue;
    wire::StatusReply status{};
    status.state = static_cast<std::uint32_t>(AgentState::kRecording);
    status.in_session = 1;
    control_socket.reply(status);
  });
  Options options = with_words({std::to_string(recorded.pid())});
  const auto stopped = stop_command(options);
  ASSERT_FALSE(stopped.ok());
  EXPECT_THAT(stopped.error().message, HasSubstr(recorded.silence()));
}

TEST(Chosen, WhatIsRecordedOrWaitsForItsNextWindowIsNotFree) {
  control::TargetStatus status;
  status.control_socket.pid = 5;
  status.daemon_pid = 6;
  status.state = "armed";
  EXPECT_TRUE(check_not_recording(status).ok());
  status.in_session = true;
  EXPECT_TRUE(check_not_recording(status).ok()) << "the schedule is over";
  for (const char* state : {"counting", "recording", "counting, kinds kept"}) {
    status.state = state;
    const auto busy = check_not_recording(status);
    ASSERT_FALSE(busy.ok()) << state;
    EXPECT_THAT(busy.error().message, HasSubstr("gpuprof stop 5"));
  }
}

}  // namespace
}  // namespace gpuprof::cli
