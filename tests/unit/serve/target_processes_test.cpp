// SPDX-License-Identifier: Apache-2.0
#include "serve/target_processes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gpuprof::serve {
namespace {

std::string environment(const std::string& value) {
  using std::string_literals::operator""s;
  return "HOME=/root\0GPUPROF_SOCKET="s + value + "\0PATH=/bin\0"s;
}

TEST(Members, AProcessNamesTheProgramItWasStartedWith) {
  EXPECT_EQ(environment_names_program(environment("armed;pid=4711"), 4711), 1);
  EXPECT_EQ(environment_names_program(environment("@gpuprof-1-2;session=ab;pid=4711"), 4711), 1);
  EXPECT_EQ(environment_names_program(environment("armed;name=train;pid=47110"), 4711), 0);
  EXPECT_EQ(environment_names_program(environment("armed;name=pid4711"), 4711), 0);
}

TEST(Members, AnEnvironmentWithoutOurVariableSaysNothing) {
  EXPECT_EQ(environment_names_program("", 4711), -1);
  EXPECT_EQ(environment_names_program(std::string("worker 3: training\0\0\0", 21), 4711), -1);
  EXPECT_EQ(environment_names_program(std::string("MY_GPUPROF_SOCKET=armed;pid=4711\0", 33), 4711),
            -1);
}

TEST(Members, NobodyIsFoundWhereNobodyIsMeant) {
  ProcessFilter choice;
  choice.names = {"a-name-that-no-process-has"};
  const TargetProcesses members = find_target_processes(choice);
  EXPECT_TRUE(members.idle.empty());
  EXPECT_TRUE(members.busy.empty());
}

}  // namespace
}  // namespace gpuprof::serve
