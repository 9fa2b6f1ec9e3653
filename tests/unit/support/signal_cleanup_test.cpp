// SPDX-License-Identifier: Apache-2.0
//
// What is removed when a signal ends the program.
#include "support/io/signal_cleanup.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gpuprof::support {
namespace {

namespace fs = std::filesystem;

std::string made_folder() {
  std::string path = ::testing::TempDir() + "tidy-XXXXXX";
  return ::mkdtemp(path.data());
}

/// A child that does `body`, sends itself `signal` and ends after some seconds; its wait status.
template <typename Body>
int status_of_child(int signal, unsigned seconds, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    ::signal(signal, SIG_DFL);  // a shell's background ignores some
    body();
    kill(getpid(), signal);
    sleep(seconds);
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Tidy, WhatIsThereForAWhileGoesWithTheSignalThatEndsTheProgram) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string folder = made_folder(), kept = made_folder(), empty = made_folder(),
                      full = made_folder();
    std::ofstream(folder + "/file") << "text";
    std::ofstream(full + "/file") << "text";
    const int status = status_of_child(signal, 600, [&] {
      install_signal_cleanup();
      create_with_cleanup([&] { return folder; });
      create_with_cleanup([&] { return kept; });
      cleanup_if_empty({empty, full});
      cancel_cleanup(kept);
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_FALSE(fs::exists(folder));
    EXPECT_TRUE(fs::exists(kept));
    EXPECT_FALSE(fs::exists(empty));
    EXPECT_TRUE(fs::exists(full + "/file"));
    fs::remove_all(kept);
    fs::remove_all(full);
  }
}

TEST(Tidy, ASignalThatWasIgnoredStaysIgnored) {
  const std::string folder = made_folder();
  const int status = status_of_child(SIGHUP, 2, [&] {
    ::signal(SIGHUP, SIG_IGN);
    install_signal_cleanup();
    create_with_cleanup([&] { return folder; });
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(fs::exists(folder));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace gpuprof::support
