// SPDX-License-Identifier: Apache-2.0
#include "cli/target/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process/subprocess.hpp"

namespace gpuprof::cli {
namespace {

using support::environment_get;
using support::environment_has;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Words = std::vector<std::string>;

Installation installed() {
  Installation i;
  i.library = "/opt/lib/gpuprof/libgpuprof_inject.so";
  return i;
}
constexpr char kPreload[] = "/opt/lib/gpuprof/$LIB/libgpuprof_inject.so";
constexpr char kAddress[] = "@a;session=1f";

ProgramEnvironment made_from(const Words& original) {
  return program_environment(original, installed(), kPreload, kAddress);
}

TEST(ProgramEnvironment, SetsOurVariablesAndKeepsTheRest) {
  const ProgramEnvironment env = made_from({"HOME=/root", "EMPTY="});
  EXPECT_EQ(environment_get(env.variables, "HOME"), "/root");
  EXPECT_TRUE(environment_has(env.variables, "EMPTY"));
  EXPECT_EQ(environment_get(env.variables, "LD_PRELOAD"), kPreload);
  EXPECT_EQ(environment_get(env.variables, "CUDA_INJECTION64_PATH"), installed().library);
  EXPECT_EQ(environment_get(env.variables, "NVTX_INJECTION64_PATH"), installed().library);
  EXPECT_EQ(environment_get(env.variables, "GPUPROF_SOCKET"), kAddress);
  EXPECT_THAT(env.notes, IsEmpty());
}

TEST(ProgramEnvironment, StandsInFrontOfTheUsersPreloads) {
  const ProgramEnvironment env = made_from({"LD_PRELOAD=/usr/lib/libjemalloc.so /x/y.so"});
  EXPECT_EQ(environment_get(env.variables, "LD_PRELOAD"),
            std::string(kPreload) + ":/usr/lib/libjemalloc.so:/x/y.so");
}

TEST(ProgramEnvironment, InnerRunReplacesTheOuterOneAndSaysSo) {
  const ProgramEnvironment env =
      made_from({"LD_PRELOAD=/old/libgpuprof_inject.so:/x/y.so", "GPUPROF_SOCKET=@b;session=2",
                 "CUDA_INJECTION64_PATH=/old/libgpuprof_inject.so"});
  EXPECT_EQ(environment_get(env.variables, "LD_PRELOAD"), std::string(kPreload) + ":/x/y.so");
  EXPECT_EQ(environment_get(env.variables, "GPUPROF_SOCKET"), kAddress);
  EXPECT_EQ(environment_get(env.variables, "CUDA_INJECTION64_PATH"), installed().library);
  EXPECT_THAT(env.notes, ElementsAre(HasSubstr("inside another gpuprof session")));
}

TEST(ProgramEnvironment, AnotherToolsInjectionStaysAndIsNamed) {
  const ProgramEnvironment env = made_from({"CUDA_INJECTION64_PATH=/nsys/libToolsInjection64.so"});
  EXPECT_EQ(environment_get(env.variables, "CUDA_INJECTION64_PATH"),
            "/nsys/libToolsInjection64.so");
  EXPECT_THAT(env.notes, ElementsAre(HasSubstr("/nsys/libToolsInjection64.so")));
}

TEST(ProgramEnvironment, AsanOptionsAreAppended) {
  EXPECT_EQ(environment_get(made_from({}).variables, "ASAN_OPTIONS"), "verify_asan_link_order=0");
  EXPECT_EQ(environment_get(made_from({"ASAN_OPTIONS=a=1"}).variables, "ASAN_OPTIONS"),
            "a=1:verify_asan_link_order=0");
}

TEST(ProgramEnvironment, UnprofiledProgramSeesNothingOfOurs) {
  const Words original = {"LD_PRELOAD=/x/y.so", "HOME=/root"};
  EXPECT_EQ(program_environment(original, installed(), "", "").variables, original);
}

TEST(AddPid, CompletesTheAddress) {
  Words words = made_from({}).variables;
  append_target_pid(words, 77);
  EXPECT_EQ(environment_get(words, "GPUPROF_SOCKET"), "@a;session=1f;pid=77");
  Words plain = {"A=1"};
  append_target_pid(plain, 77);
  EXPECT_THAT(plain, ElementsAre("A=1"));
}

TEST(DaemonEnvironment, IsNotProfiledByAnOuterRun) {
  const Words words = daemon_environment(
      {"LD_PRELOAD=/old/libgpuprof_inject.so:/x/y.so", "GPUPROF_SOCKET=@b", "HOME=/root"});
  EXPECT_THAT(words, testing::UnorderedElementsAre("HOME=/root", "LD_PRELOAD=/x/y.so"));
}

}  // namespace
}  // namespace gpuprof::cli
