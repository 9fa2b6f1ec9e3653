// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/options/parse.hpp"
#include "cli/session/serve_process.hpp"

namespace gpuprof::cli {
namespace {

Options parsed(const std::vector<std::string>& words) {
  auto invocation = parse(words);
  EXPECT_TRUE(invocation) << invocation.error().message;
  return invocation ? invocation.value().options : Options();
}

/// The options of a capture by gpuprof-serve that `gpuprof run OPTIONS` started.
Options captured(std::vector<std::string> options) {
  options.insert(options.begin(), {"run", "--serve", "6009"});
  options.emplace_back("program");
  std::vector<std::string> words = capture_arguments(parsed(options));
  words.insert(words.begin(), "capture");
  words.emplace_back("4711");
  return parsed(words);
}

TEST(ServeWords, WithoutOptionsACaptureHasItsDefaults) {
  Options plain = parsed({"capture", "4711"});
  EXPECT_EQ(to_text(captured({}).session), to_text(plain.session));
}

TEST(ServeWords, WhatToRecordIsThatOfTheCommandLine) {
  const std::vector<std::string> options = {
      "--rate=7",           "--sampler=cpu-timer", "--max-size=123MiB",       "--max-overhead=2.5%",
      "--cuda-graph=graph", "--buffer-size=2MiB",  "--no-record-shapes",      "--no-with-stack",
      "--no-with-modules",  "--no-profile-memory", "--step=nvtx:it\\era tion"};
  std::vector<std::string> words = options;
  words.insert(words.begin(), "capture");
  words.emplace_back("4711");
  EXPECT_EQ(to_text(captured(options).session), to_text(parsed(words).session));
}

TEST(ServeWords, TheDaemonIsFoundFromAnotherFolder) {
  EXPECT_EQ(captured({"--daemon", "@name"}).daemon_path, "@name");
  EXPECT_EQ(captured({"--daemon", "/opt/gpuprofd"}).daemon_path, "/opt/gpuprofd");
  EXPECT_TRUE(captured({"--daemon", "here/gpuprofd"}).daemon_path.starts_with("/"));
}

}  // namespace
}  // namespace gpuprof::cli
