// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/processes/process_selection.hpp"

#include <gmock/gmock.h>

namespace gpuprof::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Candidate process(std::uint32_t pid, std::uint32_t ppid) {
  Candidate c;
  c.pid = pid;
  c.ppid = ppid;
  return c;
}

TEST(Choose, TakesEveryProcessThatUsedCuda) {
  auto launcher = process(1, 0), rank0 = process(2, 1), rank1 = process(3, 1);
  rank0.cuda = rank1.cuda = true;
  rank0.gpu = true;
  rank1.gpu = true;
  launcher.cpu_ns = 1'000'000'000;
  const std::vector all{launcher, rank0, rank1};
  const auto selected = select_processes(all, false);
  EXPECT_THAT(selected, ElementsAre(1, 2));
  EXPECT_EQ("launcher", role_of(all, selected, 0));
  EXPECT_EQ("traced", role_of(all, selected, 1));
}

TEST(Choose, TakesRunningProcessesThatWereNamed) {
  auto trainer = process(1, 0), named = process(2, 1), found = process(3, 1);
  trainer.cuda = trainer.gpu = true;
  named.requested = true;
  found.cpu_ns = 1'000'000'000;
  EXPECT_THAT(select_processes({trainer, named, found}, false), ElementsAre(0, 1));
  EXPECT_THAT(select_processes({named, found}, false), ElementsAre(0)) << "whatever others did";
  EXPECT_THAT(select_processes({trainer, named, found}, true), ElementsAre(0, 1, 2));
}

TEST(Choose, LeavesLoaderWorkersOut) {
  auto trainer = process(1, 0), loader = process(2, 1);
  trainer.cuda = true;
  loader.ranges = 10;
  loader.cpu_ns = 5;
  const std::vector all{trainer, loader};
  EXPECT_THAT(select_processes(all, false), ElementsAre(0));
  EXPECT_EQ("helper", role_of(all, {0}, 1));
  EXPECT_THAT(select_processes(all, true), ElementsAre(0, 1));
}

TEST(Choose, TakesTheBusiestWhereNobodyUsedCuda) {
  auto wrapper = process(1, 0), child = process(2, 1);
  wrapper.cpu_ns = 10, wrapper.samples = 1;
  child.cpu_ns = 900, child.samples = 90;
  EXPECT_THAT(select_processes({wrapper, child}, false), ElementsAre(1));
}

TEST(Choose, TakesEveryRankOfAJobWhoseRankIsTheBusiest) {
  auto launcher = process(1, 0), rank0 = process(2, 1), rank1 = process(3, 1),
       helper = process(4, 3), other = process(5, 1);
  launcher.cpu_ns = 500, rank0.cpu_ns = 900, rank1.cpu_ns = 800;
  helper.cpu_ns = 700, other.cpu_ns = 600;
  launcher.rank = "env.SLURM_PROCID=0";
  rank0.rank = "env.OMPI_COMM_WORLD_RANK=0";
  rank1.rank = helper.rank = "env.OMPI_COMM_WORLD_RANK=1";  // what a rank starts inherits its own
  EXPECT_THAT(select_processes({launcher, rank0, rank1, helper, other}, false), ElementsAre(1, 2));
  launcher.rank = "";
  EXPECT_THAT(select_processes({launcher, rank0, rank1, helper, other}, false), ElementsAre(1, 2));
  other.cpu_ns = 1000;
  EXPECT_THAT(select_processes({launcher, rank0, rank1, helper, other}, false), ElementsAre(4));
}

TEST(Choose, WrapperWithoutCpuTimeLosesToItsChild) {
  EXPECT_THAT(select_processes({process(1, 0), process(2, 1)}, false), ElementsAre(1));
  EXPECT_THAT(select_processes({process(1, 0)}, false), ElementsAre(0));
  EXPECT_THAT(select_processes({}, false), IsEmpty());
}

TEST(Choose, TakesOneImageOfAProcessThatReplacedItself) {
  auto shell = process(1, 0), program = process(1, 0);
  program.cuda = true;
  EXPECT_THAT(select_processes({shell, program}, false), ElementsAre(1));
  EXPECT_THAT(select_processes({program, shell}, false), ElementsAre(0))
      << "the better one, not the last";
  EXPECT_THAT(select_processes({shell, program}, true), ElementsAre(1));
}

TEST(Choose, TakesProcessesThatHadOneNumberAfterAnotherForSeveral) {
  auto first = process(7, 1), child = process(8, 7), second = process(7, 1), other = process(9, 7);
  first.start_ticks = 100, child.start_ticks = 110, second.start_ticks = 200;
  first.gpu = first.cuda = true;
  const std::vector all{first, child, second, other};
  EXPECT_THAT(select_processes(all, true), ElementsAre(0, 1, 2, 3));
  const auto selected = select_processes(all, false);
  EXPECT_THAT(selected, ElementsAre(0));
  EXPECT_EQ("helper", role_of(all, selected, 1));
  EXPECT_EQ("quiet", role_of(all, selected, 2)) << "another process, not a program before an exec";
  EXPECT_EQ("quiet", role_of(all, selected, 3)) << "a child of that one";
}

TEST(Choose, TakesEveryImageOfAProcessThatWorked) {
  auto shell = process(1, 0), first = process(1, 0), second = process(1, 0), idle = process(1, 0);
  first.cuda = second.cuda = idle.cuda = true;
  first.gpu = second.gpu = true;
  shell.cpu_ns = 1'000'000'000;
  const std::vector all{shell, first, second, idle};
  EXPECT_THAT(select_processes(all, false), ElementsAre(1, 2));
  EXPECT_THAT(select_processes(all, true), ElementsAre(1, 2));
  first.gpu = second.gpu = false;
  EXPECT_THAT(select_processes({shell, first, second}, false), ElementsAre(2)) << "none worked";
}

TEST(Choose, TakesTheProgramThatALauncherBecameHoweverLittleItDid) {
  auto launcher = process(1, 0), program = process(1, 0);
  launcher.cpu_ns = 1'000'000'000;
  launcher.samples = 100;
  program.cpu_ns = program.samples = 0;
  EXPECT_THAT(select_processes({launcher, program}, false), ElementsAre(1));
}

// torchrun counts the devices, which initialises CUDA, and works on none.
TEST(Choose, LeavesOutALauncherThatOnlyInitialisedCuda) {
  auto launcher = process(1, 0), rank0 = process(2, 1), rank1 = process(3, 1);
  launcher.cuda = rank0.cuda = rank1.cuda = true;
  rank0.gpu = rank1.gpu = true;
  launcher.cpu_ns = 1'000'000'000;
  const std::vector all{launcher, rank0, rank1};
  EXPECT_THAT(select_processes(all, false), ElementsAre(1, 2));
  EXPECT_EQ("launcher", role_of(all, {1, 2}, 0));
}

TEST(Choose, LeavesOutAHelperThatOnlyInitialisedCuda) {
  auto trainer = process(1, 0), compiler = process(2, 1);
  trainer.cuda = trainer.gpu = compiler.cuda = true;
  EXPECT_THAT(select_processes({trainer, compiler}, false), ElementsAre(0));
}

TEST(Choose, KeepsARankWithStepsBelowALauncherThatOnlyInitialisedCuda) {
  auto launcher = process(1, 0), rank0 = process(2, 1), rank1 = process(3, 1);
  launcher.cuda = rank0.cuda = rank1.cuda = true;
  rank0.gpu = true;
  rank1.steps = 5;  // its GPU work lies outside the window
  EXPECT_THAT(select_processes({launcher, rank0, rank1}, false), ElementsAre(1, 2));
}

TEST(Choose, TakesStepsBesideCudaWhereNobodyWorkedOnAGpu) {
  auto launcher = process(1, 0), rank0 = process(2, 1), loader = process(3, 2);
  launcher.cuda = rank0.cuda = true;
  rank0.steps = 5;
  loader.ranges = 5;
  EXPECT_THAT(select_processes({launcher, rank0, loader}, false), ElementsAre(1));
}

TEST(Choose, TakesWhoInitialisedCudaWhereNobodyDidMore) {
  auto program = process(1, 0), other = process(2, 1);
  program.cuda = true;
  other.cpu_ns = 100;
  EXPECT_THAT(select_processes({program, other}, false), ElementsAre(0));
}

TEST(Choose, TakesEveryProcessThatRanOperators) {
  auto launcher = process(1, 0), rank0 = process(2, 1), rank1 = process(3, 1);
  rank0.operators = 5000;
  rank1.operators = 4000;
  launcher.cpu_ns = 1'000'000'000;
  launcher.cuda = true;  // it counted the devices; its ranks work on the CPU
  const std::vector all{launcher, rank0, rank1};
  EXPECT_THAT(select_processes(all, false), ElementsAre(1, 2));
  EXPECT_EQ("launcher", role_of(all, {1, 2}, 0));
}

TEST(Choose, LeavesOutWorkersOfALoaderWhateverTheyRan) {
  auto trainer = process(1, 0), loader = process(2, 1);
  trainer.operators = 10;
  loader.operators = 10'000;
  loader.steps = 500;
  loader.serves = true;
  EXPECT_THAT(select_processes({trainer, loader}, false), ElementsAre(0));
  EXPECT_EQ("helper", role_of({trainer, loader}, {0}, 1));
  EXPECT_THAT(select_processes({trainer, loader}, true), ElementsAre(0, 1));
}

TEST(Choose, TakesAnEvaluationOnTheCpuBesideATrainingOnTheGpu) {
  auto trainer = process(1, 0), evaluation = process(2, 1);
  trainer.cuda = trainer.gpu = true;
  evaluation.operators = 100;
  EXPECT_THAT(select_processes({trainer, evaluation}, false), ElementsAre(0, 1));
}

TEST(Choose, TakesAWorkerThatWorkedOnAGpu) {
  auto trainer = process(1, 0), loader = process(2, 1);
  trainer.cuda = trainer.gpu = loader.cuda = loader.gpu = loader.serves = true;
  EXPECT_THAT(select_processes({trainer, loader}, false), ElementsAre(0, 1));
}

}  // namespace
}  // namespace gpuprof::session
