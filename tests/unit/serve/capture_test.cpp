// SPDX-License-Identifier: Apache-2.0
#include "serve/capture.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "daemon/client/serve_protocol.hpp"
#include "gpuprof/wire/messages.hpp"
#include "tests/unit/serve/own_folder.hpp"

namespace gpuprof::serve {
namespace {

constexpr auto kNever = [] { return false; };

/// A `gpuprof` of the test's own: a script that is given the words of the command.
class CaptureTest : public TmpdirTest {
 protected:
  CaptureCommand command(const std::string& script) const {
    const std::string path = folder_ + "/gpuprof";
    std::ofstream(path) << "#!/bin/bash\n"
                        << "words=\"$*\"\n"
                        << "while [ $# -gt 1 ]; do [ \"$1\" = --output ] && files=$2; [ \"$1\" = "
                           "--summary-json ] && summary=$2; shift; done\n"
                        << script;
    chmod(path.c_str(), 0755);
    return {path, {"--rate=7"}, false};
  }
  /// Nothing of a capture is left.
  bool clean() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++count;
    return count == 1;
  }
  const CaptureRequest order_{1'500'000'000, wire::kTraceCuda | wire::kTracePython, {11, 12}};
};

TEST_F(CaptureTest, CallsGpuprofAndBringsItsFiles) {
  const auto made = capture(
      command("mkdir $files; printf '%s' \"$words\" > $files/a" +
              std::string(client::kServeSuffix) + "; echo '{\"files\":[{\"path\":\"'$files/a" +
              client::kServeSuffix + "'\",\"bytes\":5,\"events\":1}]}' > $summary"),
      order_, kNever);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made.value().size(), 1U);
  EXPECT_EQ("." + made.value()[0].name, client::kServeSuffix);
  const std::string& words = made.value()[0].data;
  EXPECT_TRUE(words.starts_with("capture --rate=7 ")) << words;
  EXPECT_NE(words.find("--trace cuda,python --duration 1500000us --pid 11,12 --no-all-processes"),
            std::string::npos)
      << words;
  EXPECT_TRUE(clean());
}

TEST_F(CaptureTest, NothingRecordedIsNoFailure) {
  const auto made = capture(
      command("echo '{\"nothing\":true,\"failures\":[\"no trace file\"]}' > $summary; exit 125"),
      order_, kNever);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made.value().empty());
  EXPECT_TRUE(clean());
}

TEST_F(CaptureTest, AFailureIsGpuprofsOwnSentence) {
  auto made = capture(command("echo '{\"failures\":[\"the disk is full\"]}' > $summary; exit 125"),
                      order_, kNever);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "the disk is full");
  made = capture(command("echo 'gpuprof: it does not want to' >&2; exit 125"), order_, kNever);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "it does not want to");
  made = capture(command("kill -9 $$"), order_, kNever);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("ended without a message"), std::string::npos);
  EXPECT_TRUE(clean());
}

TEST_F(CaptureTest, EndsEarlyWhenItIsToldTo) {
  // Once it is ready to hear of it.
  const std::string ready = folder_ + "/ready";
  const auto made =
      capture(command("trap 'echo \"{\\\"nothing\\\":true}\" > $summary; exit 0' INT\n"
                      ": > " +
                      ready +
                      "\n"
                      "for i in $(seq 30000); do sleep 0.02; done"),
              order_, [&ready] { return std::filesystem::exists(ready); });
  ASSERT_TRUE(made) << made.error().message;
}

TEST_F(CaptureTest, WhatNoAnswerCanCarryIsSaid) {
  const auto made =
      capture(command("echo '{\"files\":[{\"path\":\"/x" + std::string(client::kServeSuffix) +
                      "\",\"bytes\":2147483648,\"events\":1}]}' > $summary"),
              order_, kNever);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("2 GiB"), std::string::npos) << made.error().message;
}

TEST(AnswerNames, AreOfTheWorkerWhereThereAreSeveral) {
  const std::string suffix = client::kServeSuffix;
  EXPECT_EQ(response_file_names({"/a/host_7" + suffix}),
            std::vector<std::string>{suffix.substr(1)});
  EXPECT_EQ(response_file_names({"/a/host_7" + suffix, "/a/host_8" + suffix}),
            (std::vector<std::string>{"host_7" + suffix, "host_8" + suffix}));
}

TEST(AnswerNames, AreDistinctAndHarmless) {
  const std::string suffix = client::kServeSuffix;
  const auto names = response_file_names({"/a/x" + suffix, "/b/x" + suffix, "/b/..\n;:" + suffix});
  EXPECT_EQ(names, (std::vector<std::string>{"x" + suffix, "x_2" + suffix,
                                             ".._" + std::string("__") + suffix}));
}

}  // namespace
}  // namespace gpuprof::serve
