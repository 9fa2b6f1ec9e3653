// SPDX-License-Identifier: Apache-2.0
//
// gpusim-run: options, which programs get which libraries, and what it refuses.
//
// Context:  tests
// Owns:     nothing
// Promises: the PyTorch it meets is a folder with a version file, so no wheel is needed
// Not here: what the libraries do (library_test.cpp), the real PyTorch (tests/e2e/simgpu)
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/scenarios.hpp"
#include "run_support.hpp"
#include "tools/find_torch.hpp"
#include "tools/host_memory.hpp"

using simtest::run_shell;
using simtest::RunResult;

namespace {

std::string launcher() { return simtest::program_folder() + "/gpusim-run "; }

bool has(const RunResult& run, const std::string& text) {
  return run.output.find(text) != std::string::npos;
}

/// Variables that the launcher would set.
RunResult printed(const std::string& arguments, const std::string& variables = "") {
  return run_shell(variables + " " + launcher() + "--print-env " + arguments);
}

/// One sentence that names the launcher.
void expect_refused(const std::string& arguments, const std::string& words, int status = 125,
                    const std::string& variables = "") {
  const RunResult run = run_shell(variables + " " + launcher() + arguments);
  EXPECT_EQ(run.exit_code, status) << arguments;
  EXPECT_TRUE(has(run, words)) << arguments << ": " << run.output;
  EXPECT_EQ(run.output.find("gpusim-run: "), 0u) << run.output;
  EXPECT_EQ(run.output.find('\n'), run.output.size() - 1) << run.output;
}

std::string write(const std::string& path, const std::string& text, mode_t mode = 0755) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
  chmod(path.c_str(), mode);
  return path;
}

/// A variable that gives every Python a PyTorch of that version.
std::string with_torch(const std::string& version, const std::string& cuda) {
  const std::string folder = simtest::scratch_path("torch-" + version);
  write(folder + "/torch/__init__.py", "raise SystemExit('PyTorch was imported')\n");
  write(folder + "/torch/version.py",
        "__version__ = '" + version + "'\n" +
            "cuda: Optional[str] = " + (cuda.empty() ? "None" : "'" + cuda + "'") + "\n");
  return "PYTHONPATH=" + folder;
}

const gpusim::Torch& built() {
  static const auto* const torch = new gpusim::Torch(gpusim::torch_built_for());
  return *torch;
}

std::string with_built_torch() { return with_torch(built().version, built().cuda); }

TEST(Launcher, KeepsWhatIsInTheVariables) {
  const RunResult with = printed("--preload", "LD_LIBRARY_PATH=/a/b LD_PRELOAD=/c/profiler.so");
  EXPECT_TRUE(has(with, ":/a/b\n")) << with.output;
  EXPECT_TRUE(has(with, "LD_PRELOAD=/c/profiler.so:")) << with.output;
}

TEST(Launcher, UnderstandsUnits) {
  EXPECT_TRUE(has(printed("--api-cost 3us"), "GPUSIM_API_COST_NS=3000\n"));
  EXPECT_TRUE(has(printed("--devices 1 --memory 64MiB"), "GPUSIM_MEMORY=67108864\n"));
  EXPECT_TRUE(has(printed("--devices 1 --memory 64M"), "GPUSIM_MEMORY=67108864\n"));
  EXPECT_TRUE(has(printed("--devices=3"), "GPUSIM_DEVICES=3\n"));
}

TEST(Launcher, RefusesNonsenseInOneSentence) {
  expect_refused("--api-cost soon true", "give a time");
  expect_refused("--scenario no-such-thing true", "--list-scenarios");
  expect_refused("--scenario zero-times:often true", "NAME:NUMBER");
  expect_refused("--layout 9.0 true", "give one of 11.8, 12.4");
  expect_refused("--devices 17 true", "from 0 to 16");
  expect_refused("--devices -1 true", "from 0 to 16");
  expect_refused("--model t4 true", "give one of h100, a100, v100");
  expect_refused("--memory 0 true", "a size above 0");
  expect_refused("--time-scale -1 true", "a number from 0");
  expect_refused("--errors cuptiSubscribe:0:1 true", "FUNCTION:NTH:CODE");
  expect_refused("--cupti both true", "give one of one, per-client");
  expect_refused("--data some true", "give one of copy, zero");
  expect_refused("--frobnicate true", "there is no option '--frobnicate'");
  expect_refused("--layout", "needs a value");
  expect_refused("--quiet", "no program given");
}

TEST(Launcher, RefusesWhatWouldQuietlyDoNothing) {
  expect_refused("--truth /no/such/folder/t true", "'/no/such/folder/t' cannot be written");
  expect_refused("--log /no/such/%p.jsonl true", "--log: '/no/such/%p.jsonl' cannot be written");
  // Neither to be written nor to be removed.
  const std::string pipe = simtest::scratch_path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_refused("--truth " + pipe + " true", "is no plain file");
  EXPECT_TRUE(std::filesystem::exists(pipe));
  expect_refused("--errors cuptiSubscirbe:1:39 true", "no function 'cuptiSubscirbe'");
  expect_refused("--scenario shuffled,,empty-buffer true", "one comma between two");
  expect_refused("--scenario shuffled, true", "one comma between two");
  expect_refused("--errors cuptiSubscribe:1:39,, true", "one comma between two");
  expect_refused("--scenario two-copies --pytorch no true", "needs --preload");
  EXPECT_EQ(run_shell(launcher() + "--errors cuptiSubscribe:1:39 true").exit_code, 0);
}

TEST(Launcher, HoldsVariablesAgainstTheRulesOfOptions) {
  expect_refused("true", "GPUSIM_DEVICES cannot be '99'", 125, "GPUSIM_DEVICES=99");
  expect_refused("true", "GPUSIM_QUIET cannot be 'yes'", 125, "GPUSIM_QUIET=yes");
  expect_refused("true", "no scenario 'shufled'", 125, "GPUSIM_SCENARIO=shufled");
  expect_refused("true", "GPUSIM_TRUTH: '/no/such/t' cannot be", 125, "GPUSIM_TRUTH=/no/such/t");
  EXPECT_TRUE(has(printed("", "GPUSIM_API_COST_NS=3us"), "GPUSIM_API_COST_NS=3000\n"));
  EXPECT_EQ(run_shell("GPUSIM_DEVICES=99 " + launcher() + "--devices 1 true").exit_code, 0);
}

TEST(Launcher, NamesTheFolderThatIsNoProgramOrNotThere) {
  expect_refused("/usr", "it is a folder", 126);
  expect_refused("true", "set TMPDIR to another", 125, "TMPDIR=/no/such/folder");
}

TEST(Launcher, ChecksALogWithoutLeavingAFile) {
  const std::string log = simtest::scratch_path("checked.jsonl");
  EXPECT_EQ(run_shell(launcher() + "--log " + log + " true").exit_code, 0);
  EXPECT_EQ(run_shell("GPUSIM_LOG=" + log + " " + launcher() + "true").exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(log));
}

TEST(Launcher, HelpNamesEveryVariableOptionOnce) {
  const RunResult help = run_shell(launcher() + "--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* option :
       {"--devices", "--model", "--memory", "--time-scale", "--api-cost", "--data", "--truth",
        "--layout", "--cupti", "--scenario", "--errors", "--quiet", "--pytorch"})
    EXPECT_TRUE(has(help, std::string("\n  ") + option + " ")) << option;
}

TEST(Launcher, ListsTheScenariosThatTheReadmeExplains) {
  const RunResult list = run_shell(launcher() + "--list-scenarios");
  const RunResult readme = run_shell("cat " GPUSIM_README);
  for (const gpusim::ScenarioInfo& s : gpusim::kScenarios) {
    EXPECT_TRUE(has(list, s.name)) << s.name;
    EXPECT_TRUE(has(readme, "| `" + std::string(s.name) + "` |")) << s.name;
  }
}

TEST(Labels, EveryStandInCarriesTheMark) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(simtest::library_folder())) {
    const std::string file = entry.path().filename();
    if (entry.is_symlink() || file.compare(0, 7, "gpusim_") != 0 || file == "gpusim_probe.so" ||
        file == "gpusim_second.so")
      continue;
    ++found;
    EXPECT_TRUE(
        has(run_shell("nm -D --defined-only " + entry.path().string()), "gpuprof_simulated_gpu"))
        << file;
  }
  EXPECT_GE(found, 5);
}

TEST(Programs, EndWithTheStatusOfEnv) {
  expect_refused("no-such-program-anywhere", "cannot start 'no-such-program-anywhere'", 127);
  expect_refused(write(simtest::scratch_path("plain.txt"), "text", 0644), "chmod +x", 126);
  EXPECT_EQ(run_shell(launcher() + "--quiet -- sh -c 'exit 7'").exit_code, 7);
}

TEST(Programs, ThatBringTheirOwnRuntimeAreRefused) {
  const std::string program = simtest::program_folder() + "/sim_static_cudart";
  if (!std::filesystem::exists(program))
    GTEST_SKIP() << "built without a wheel: no static runtime to link";
  expect_refused("-- " + program, "-cudart shared");
  expect_refused("-- env -- " + program, "-cudart shared");
  expect_refused("-- env A=b timeout -k 1 10 " + program, "-cudart shared");
  expect_refused("-- nice " + program, "-cudart shared");
  EXPECT_EQ(run_shell(launcher() + "-- ls " + program).exit_code, 0);
}

TEST(Memory, IsBoundedByTheAddressSpace) {
  const RunResult run =
      run_shell("ulimit -v 20000000; " + launcher() + "--devices 4 --memory 64G --print-env 2>&1");
  EXPECT_TRUE(has(run, "instead of the 64.0 GiB asked for")) << run.output;
  EXPECT_TRUE(has(run, "for 4 devices")) << run.output;
}

TEST(Memory, WorkedOutByAnOuterLauncherIsNoWish) {
  const std::string inner = launcher() + "--devices 8 --print-env 2>&1";
  const RunResult run = run_shell("ulimit -v 20000000; " + launcher() + "--devices 2 -- " + inner);
  EXPECT_TRUE(has(run, "GPUSIM_MEMORY=")) << run.output;
  EXPECT_FALSE(has(run, "asked for")) << run.output;
}

/// A machine with 64 GiB free, of which the files given leave less.
std::string machine(const std::string& name,
                    const std::vector<std::pair<std::string, std::string>>& files) {
  const std::string root = simtest::scratch_path(name);
  write(root + "/proc/meminfo",
        "MemAvailable: 67108864 kB\nCommitLimit: 8388608 kB\nCommitted_AS: 4194304 kB\n");
  for (const auto& [path, text] : files) write(root + path, text);
  return root;
}

TEST(Memory, IsBoundedByTheMachineAndItsGroups) {
  rlimit own{};
  if (getrlimit(RLIMIT_AS, &own) != 0 || own.rlim_cur != RLIM_INFINITY)
    GTEST_SKIP() << "the address space is limited already (ulimit -v)";
  constexpr std::uint64_t kGiB = 1ull << 30;
  EXPECT_EQ(gpusim::usable_host_memory(machine("m-free", {})), 48 * kGiB);
  EXPECT_EQ(
      gpusim::usable_host_memory(machine("m-strict", {{"/proc/sys/vm/overcommit_memory", "2\n"}})),
      kGiB / 4 * 3);
  // The limit is on the group above; what is only cached does not count as used.
  EXPECT_EQ(gpusim::usable_host_memory(machine(
                "m-v2", {{"/proc/self/cgroup", "0::/outer/inner\n"},
                         {"/sys/fs/cgroup/outer/memory.max", "8589934592\n"},
                         {"/sys/fs/cgroup/outer/memory.current", "5368709120\n"},
                         {"/sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 1073741824\n"},
                         {"/sys/fs/cgroup/outer/inner/memory.max", "max\n"}})),
            3 * kGiB);
  EXPECT_EQ(gpusim::usable_host_memory(
                machine("m-v1", {{"/proc/self/cgroup", "4:memory:/job\n0::/\n"},
                                 {"/sys/fs/cgroup/memory/memory.stat",
                                  "hierarchical_memory_limit 4294967296\ntotal_inactive_file 0\n"},
                                 {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n"}})),
            3 * kGiB);
}

TEST(Memory, IsSharedByTheRanks) {
  const auto bytes = [](const std::string& variables, const std::string& command) {
    const RunResult run =
        run_shell("ulimit -v 20000000; " + variables + launcher() +
                  "--devices 1 --memory 64G --print-env -- " + command + " 2>/dev/null");
    const std::size_t at = run.output.find("GPUSIM_MEMORY=");
    return at == std::string::npos ? 0 : std::strtoull(run.output.c_str() + at + 14, nullptr, 10);
  };
  const unsigned long long alone = bytes("", "true");
  EXPECT_GT(alone, 0u);
  EXPECT_LT(bytes("WORLD_SIZE=4 ", "true"), alone / 2);
  EXPECT_LT(bytes("", "true --nproc-per-node=4"), alone / 2);
  EXPECT_LT(bytes("", "true --nproc_per_node 4"), alone / 2);
}

TEST(Pytorch, WithoutCudaOrForAnotherMajorIsRefused) {
  expect_refused("-- python3 x.py", "built without CUDA", 125, with_torch("2.9.0+cpu", ""));
  expect_refused("-- python3 x.py", "for CUDA 12.8", 125, with_torch("2.9.0+cu128", "12.8"));
}

TEST(Pytorch, OtherThanTheOneBuiltForIsRefused) {
  if (!built().folder.empty())
    expect_refused("--pytorch yes -- python3 x.py", "is not the one", 125,
                   with_torch("2.1.0+cu130", "13.0"));
  expect_refused("-- python3 x.py", built().folder.empty() ? "without a wheel" : "is not the one",
                 125, with_torch("2.1.0+cu130", "13.0"));
}

TEST(Pytorch, NeedNotBeUsed) {
  const RunResult run = printed("--pytorch no -- python3 x.py", with_torch("2.9.0+cpu", ""));
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_FALSE(has(run, "LD_PRELOAD=")) << run.output;
}

class WithWheel : public testing::Test {
 protected:
  void SetUp() override {
    if (built().folder.empty()) GTEST_SKIP() << "built without a wheel";
  }
};

TEST_F(WithWheel, PytorchGetsTheStandInsByPreloadAndItsDefaults) {
  const RunResult run = printed("-- python3 x.py", with_built_torch());
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_TRUE(has(run, "GPUSIM_DATA=zero\n")) << run.output;
  EXPECT_TRUE(has(run, "GPUSIM_LAYOUT=13.2\n")) << run.output;
  EXPECT_TRUE(has(run, "TRITON_LIBCUDA_PATH=/")) << run.output;
  std::size_t at = run.output.find("LD_PRELOAD=");
  for (const char* file :
       {"cudart", "cuda", "cublasLt", "cublas", "cudnn", "cupti", "nccl", "nvml"}) {
    const std::string name = "/gpusim_" + std::string(file) + ".so";
    if (!std::filesystem::exists(simtest::library_folder() + name)) continue;
    const std::size_t next = run.output.find(name, at);
    EXPECT_NE(next, std::string::npos) << file << " is missing or too early: " << run.output;
    at = next;
  }
}

TEST_F(WithWheel, PytorchKeepsWhatIsAskedFor) {
  const RunResult run = printed("--data copy --layout 12.4 -- python3 x.py", with_built_torch());
  EXPECT_TRUE(has(run, "GPUSIM_DATA=copy\n")) << run.output;
  EXPECT_TRUE(has(run, "GPUSIM_LAYOUT=12.4\n")) << run.output;
  EXPECT_TRUE(has(run, "/gpusim_cupti.so"))
      << "the wheel's SONAME under every layout: " << run.output;
  EXPECT_TRUE(has(printed("-- python3 x.py", "TRITON_LIBCUDA_PATH=/mine " + with_built_torch()),
                  "LD_PRELOAD="));
  EXPECT_FALSE(has(printed("-- python3 x.py", "TRITON_LIBCUDA_PATH=/mine " + with_built_torch()),
                   "TRITON_LIBCUDA_PATH"));
}

TEST_F(WithWheel, StandInsAreBehindAProfilerOrInFrontOfIt) {
  const std::string profiler = "LD_PRELOAD=/no/profiler.so " + with_built_torch();
  EXPECT_TRUE(
      has(printed("-- python3 x.py 2>/dev/null", profiler), "LD_PRELOAD=/no/profiler.so:/"));
  EXPECT_TRUE(has(printed("--cupti per-client -- python3 x.py 2>/dev/null", profiler),
                  ".so:/no/profiler.so\n"));
}

TEST_F(WithWheel, LauncherInsideLauncherNamesTheStandInsOnce) {
  const RunResult run = run_shell(with_built_torch() + " " + launcher() + "-- " + launcher() +
                                  "--print-env -- python3 x.py");
  const std::size_t first = run.output.find("/gpusim_cupti.so");
  ASSERT_NE(first, std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("/gpusim_cupti.so", first + 1), std::string::npos) << run.output;
}

TEST_F(WithWheel, PythonIsFoundBehindOtherWords) {
  const std::string interpreter =
      run_shell("python3 -c 'import sys; print(sys.executable, end=\"\")'").output;
  const std::string script = write(simtest::scratch_path("torchrun"), "#!" + interpreter + "\n");
  const std::string by_env = write(simtest::scratch_path("by-env"), "#!/usr/bin/env python3\n");
  const std::string by_sh = write(simtest::scratch_path("by-sh"),
                                  "#!/bin/sh\n'''exec' " + interpreter + " \"$0\" \"$@\"\n' '''\n");
  for (const std::string& command :
       {script + " x", by_env + " x", by_sh + " x", "env -- " + script,
        std::string("timeout 5 python3 -m x"), std::string("env A=1 nice python3 x.py"),
        interpreter + " x.py"})
    EXPECT_TRUE(has(printed("-- " + command, with_built_torch()), "LD_PRELOAD=/")) << command;
  for (const std::string& command :
       {std::string("sh -c 'python3 x.py'"), std::string("true"), std::string("ls x.py")})
    EXPECT_FALSE(has(printed("-- " + command, with_built_torch()), "LD_PRELOAD=")) << command;
  EXPECT_TRUE(has(printed("--pytorch yes -- sh -c 'python3 x.py'"), "LD_PRELOAD=/"));
}

TEST_F(WithWheel, PytorchCannotBeWithoutCupti) {
  expect_refused("--no-cupti -- python3 x.py", "linked with CUPTI", 125, with_built_torch());
}

}  // namespace
