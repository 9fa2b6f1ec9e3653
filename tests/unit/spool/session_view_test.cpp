// SPDX-License-Identifier: Apache-2.0
//
// session.jsonl: what is written is read, also after a kill.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "recording/spool/spool.hpp"

namespace gpuprof::spool {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Session : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpuprof-session-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    recording::SessionOptions options;
    options.output = "/some where/out";
    options.name = "a \"name\" with\nlines";
    auto log = SessionLog::create(folder_, options, "host-1").take();
    log->process(17, folder_ + "/17.spool");
    log->process(18, "/elsewhere/18.spool");
    log->window({1, 10, 20, 1'700'000'000'000'000'000, 3, 4, 2, "schedule"});
    log->remark("steps", "no step seen within 30 s");
    log->selected({17, 18}, {"17-0.spool", "18-1.spool"});
    log->ended("command ended");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder_;
};

TEST_F(Session, ALineThatNestsWithoutEndIsDamage) {
  std::ofstream(folder_ + "/session.jsonl", std::ios::app)
      << "{\"line\":" << std::string(1'000'000, '[') << "\n";
  const auto opened = open_session(folder_);
  ASSERT_TRUE(opened.ok());
  EXPECT_THAT(opened.value().damage, HasSubstr("damaged and skipped, line 8"));
}

TEST_F(Session, ReadsBackWhatWasWritten) {
  const auto opened = open_session(folder_ + "/");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const SessionView& view = opened.value();
  EXPECT_EQ(view.folder, folder_);
  EXPECT_EQ(view.host, "host-1");
  EXPECT_EQ(view.options.output, "/some where/out");
  EXPECT_EQ(view.options.name, "a \"name\" with\nlines");
  ASSERT_EQ(view.processes.size(), 2u);
  EXPECT_EQ(view.processes[0].spool_path, folder_ + "/17.spool");
  EXPECT_EQ(view.processes[1].spool_path, "/elsewhere/18.spool");
  ASSERT_EQ(view.windows.size(), 1u);
  EXPECT_EQ(view.windows[0].stamp_real_ns, 1'700'000'000'000'000'000u);
  EXPECT_EQ(view.windows[0].first_step, 3u);
  EXPECT_EQ(view.windows[0].first_label, 4u);
  EXPECT_EQ(view.windows[0].steps, 2u);
  EXPECT_EQ(view.windows[0].why, "schedule");
  ASSERT_EQ(view.remarks.size(), 1u);
  EXPECT_EQ(view.remarks[0].second, "no step seen within 30 s");
  EXPECT_EQ(view.selected, (std::vector<std::uint32_t>{17, 18}));
  EXPECT_EQ(view.selected_spools, (std::vector<std::string>{"17-0.spool", "18-1.spool"}));
  EXPECT_TRUE(view.ended);
}

TEST_F(Session, FindsSpoolsAgainWhenTheFolderWasMoved) {
  const std::string moved = folder_ + "-moved";
  fs::rename(folder_, moved);
  const auto opened = open_session(moved);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.value().processes[0].spool_path, moved + "/17.spool");
  fs::remove_all(moved);
}

TEST_F(Session, LeavesOutAHalfLastLineOnly) {
  // given the log cut at every byte
  const std::string path = folder_ + "/session.jsonl";
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const std::size_t first_line = whole.find('\n') + 1;
  for (std::size_t cut = first_line; cut < whole.size(); ++cut) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, cut);
    // when opened, then it opens
    const auto opened = open_session(folder_);
    ASSERT_TRUE(opened.ok()) << cut << ": " << opened.error().message;
    EXPECT_EQ(opened.value().host, "host-1");
  }
}

TEST_F(Session, WindowsThatNoClockShowsAreBroughtNear) {
  std::ofstream(folder_ + "/session.jsonl", std::ios::app)
      << R"({"line":"window","index":1,"start_ns":18446744073709551615,"end_ns":5})"
      << "\n"
      << R"({"line":"window","index":2,"start_ns":5,"end_ns":9223372036854775807})"
      << "\n";
  const auto opened = open_session(folder_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  ASSERT_EQ(opened.value().windows.size(), 3u);
  for (const model::Window& window : opened.value().windows) {
    EXPECT_LE(window.start_ns, window.end_ns);
    EXPECT_LT(window.end_ns, 1ULL << 60);
  }
}

TEST_F(Session, LeavesDamageInTheMiddleOutAndSaysSo) {
  const std::string path = folder_ + "/session.jsonl";
  std::ofstream(path, std::ios::app)
      << "{broken\n"
      << R"({"line":"remark","key":"k","sent{"line":"remark","key":"k","sentence":"lost"})"
      << "\n{\"line\":\"window\",\"index\":1,\"start_ns\":30,\"end_ns\":40}\n";
  const auto opened = open_session(folder_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened.value().windows.size(), 2u);
  EXPECT_EQ(opened.value().remarks.size(), 1u);
  EXPECT_THAT(opened.value().damage, HasSubstr("2 lines of " + path + " are damaged"));
  EXPECT_THAT(opened.value().damage, HasSubstr("line 8 is the first"));
}

TEST_F(Session, WhatFoundNoRoomIsWrittenOnceThereIsSome) {
  const std::string folder = folder_ + "/full";
  fs::create_directory(folder);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit few{1000, RLIM_INFINITY}, many{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &few);
    auto log = SessionLog::create(folder, {}, "host-1").take();
    for (std::uint32_t pid = 1; pid <= 100; ++pid) log->process(pid, std::to_string(pid));
    const bool told = !log->failure().empty();
    const auto opened = open_session(folder);  // as if the daemon had died here
    const bool whole = opened.ok() && opened.value().damage.empty();
    ::setrlimit(RLIMIT_FSIZE, &many);
    log->ended("complete");
    ::_exit(!told ? 1 : !whole ? 2 : !log->failure().empty() ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, status >> 8);
  const auto opened = open_session(folder);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ("", opened.value().damage);
  ASSERT_EQ(100u, opened.value().processes.size());
  for (std::uint32_t pid = 1; pid <= 100; ++pid)
    EXPECT_EQ(pid, opened.value().processes[pid - 1].pid);
  EXPECT_TRUE(opened.value().ended);
}

/// What open_session() says of a folder that it refuses.
std::string refusal(const std::string& folder) {
  const auto opened = open_session(folder);
  return opened ? "" : opened.error().message;
}

TEST_F(Session, EveryKindOfRefusalHasItsOwnSentence) {
  const std::string log = folder_ + "/session.jsonl";
  EXPECT_THAT(refusal(folder_ + "/none"), HasSubstr("there is no folder"));
  EXPECT_THAT(refusal(log), HasSubstr("is a file; name the folder"));
  std::ofstream(log, std::ios::trunc) << "";
  EXPECT_THAT(refusal(folder_), HasSubstr("is empty"));
  std::ofstream(log, std::ios::trunc) << "{\"line\":\"sess";
  EXPECT_THAT(refusal(folder_), HasSubstr("ends inside its first line"));
  std::ofstream(log, std::ios::trunc) << "{\"name\":\"x\"}\n";
  EXPECT_THAT(refusal(folder_), HasSubstr("does not begin like a session log of gpuprof"));
  std::ofstream(log, std::ios::trunc) << "{\"line\":\"session\",\"version\":999}\n";
  EXPECT_THAT(refusal(folder_), HasSubstr("has spool version 999"));
  fs::remove(log);
  EXPECT_THAT(refusal(folder_), HasSubstr("is not a spool folder"));
  std::ofstream(folder_ + "/7-0.spool") << "x";
  EXPECT_THAT(refusal(folder_), HasSubstr("its session.jsonl is gone"));
}

TEST_F(Session, NamesTheSpoolInsideAnOutputFolder) {
  fs::remove(folder_ + "/session.jsonl");
  fs::create_directory(folder_ + "/.gpuprof-spool-1-2");
  EXPECT_THAT(refusal(folder_), HasSubstr("did you mean " + folder_ + "/.gpuprof-spool-1-2?"));
}

}  // namespace
}  // namespace gpuprof::spool
