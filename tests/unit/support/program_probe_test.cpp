// SPDX-License-Identifier: Apache-2.0
//
// Probes real programs, built here by the compiler of the build.
#include "support/process/program_probe.hpp"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>

#include "support/process/subprocess.hpp"
#include "tests/unit/support/temp_folder.hpp"

namespace gpuprof::support {
namespace {

class ElfProbe : public testing::Test {
 protected:
  /// Builds `int main` with the given flags; "" if the compiler cannot.
  std::string build(const std::string& name, std::vector<std::string> flags) {
    const std::string source = folder_.write("main.c", "int main(void) { return 0; }\n");
    const std::string program = folder_ / name;
    std::vector<std::string> words = {TEST_CC, source, "-o", program};
    words.insert(words.end(), flags.begin(), flags.end());
    words[0] = words[0].find('/') == std::string::npos ? "/usr/bin/" + words[0] : words[0];
    const auto built = run_captured(words, current_environment(), 600'000'000'000);
    return built && built.value().wait_status == 0 ? program : "";
  }
  ProgramInfo probe(const std::string& path) {
    return probe_program(path, "/usr/local/bin:/usr/bin:/bin");
  }

  test::TempFolder folder_;
};

TEST_F(ElfProbe, OrdinaryProgramIsDynamic) {
  const std::string program = build("plain", {});
  ASSERT_NE(program, "");
  const ProgramInfo facts = probe(program);
  EXPECT_EQ(facts.kind, ProgramKind::kDynamic);
  EXPECT_TRUE(facts.preloadable());
  EXPECT_NE(facts.interpreter.find("ld-linux-x86-64"), std::string::npos);
  EXPECT_EQ(preload_obstacle(facts), "");
}

TEST_F(ElfProbe, StaticProgramIsStatic) {
  for (const char* flag : {"-static", "-static-pie"}) {
    const std::string program = build("static", {flag});
    if (program.empty()) GTEST_SKIP() << "no static C library";
    EXPECT_EQ(probe(program).kind, ProgramKind::kStatic) << flag;
  }
}

TEST_F(ElfProbe, ThirtyTwoBitProgramIsRecognised) {
  const std::string program = build("thirty", {"-m32", "-nostdlib", "-Wl,-e,main"});
  if (program.empty()) GTEST_SKIP() << "the compiler cannot build for 32 bits";
  EXPECT_EQ(probe(program).kind, ProgramKind::k32Bit);
}

TEST_F(ElfProbe, SanitizerIsFoundLinkedEitherWay) {
  const std::string dynamic = build("asan", {"-fsanitize=address"});
  const std::string fixed = build("asan_static", {"-fsanitize=address", "-static-libasan"});
  if (dynamic.empty()) GTEST_SKIP() << "the compiler has no AddressSanitizer";
  EXPECT_EQ(probe(dynamic).kind, ProgramKind::kSanitizer);
  EXPECT_NE(probe(dynamic).detail.find("asan"), std::string::npos);
  if (!fixed.empty()) {
    EXPECT_EQ(probe(fixed).kind, ProgramKind::kSanitizer);
  }
}

TEST_F(ElfProbe, OtherLoaderIsNoGlibc) {
  const std::string program = build("musl", {"-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"});
  ASSERT_NE(program, "");
  EXPECT_EQ(probe(program).kind, ProgramKind::kForeignLibc);
}

TEST_F(ElfProbe, OtherMachineIsNamed) {
  const std::string program = build("arm", {});
  ASSERT_NE(program, "");
  const int fd = open(program.c_str(), O_WRONLY);
  const Elf64_Half machine = EM_AARCH64;
  ASSERT_EQ(pwrite(fd, &machine, sizeof machine, offsetof(Elf64_Ehdr, e_machine)), 2);
  close(fd);
  EXPECT_EQ(probe(program).kind, ProgramKind::kForeignArchitecture);
}

TEST_F(ElfProbe, ForeignSetUserIdProgramIsSecureAndOwnOneIsNot) {
  const std::string program = build("suid", {});
  ASSERT_NE(program, "");
  chmod(program.c_str(), 04755);
  EXPECT_EQ(probe(program).kind, ProgramKind::kDynamic) << "running as its owner changes nothing";
  if (chown(program.c_str(), 65534, getgid()) != 0) GTEST_SKIP() << "not root: cannot give it away";
  chmod(program.c_str(), 04755);
  EXPECT_EQ(probe(program).kind, ProgramKind::kSecureExecution);
}

TEST_F(ElfProbe, ScriptLeadsToItsInterpreter) {
  const std::string program = build("shell", {"-fsanitize=address"});
  if (program.empty()) GTEST_SKIP() << "the compiler has no AddressSanitizer";
  const std::string script = folder_.write("script", "#!" + program + " -x\n", true);
  const std::string outer = folder_.write("outer", "#! " + script + "\n", true);
  EXPECT_EQ(probe(outer).kind, ProgramKind::kSanitizer);
  EXPECT_EQ(probe(outer).path, program);
  EXPECT_TRUE(probe(outer).script);
}

TEST_F(ElfProbe, EnvIsLookedThrough) {
  const std::string script = folder_.write("script", "#!/usr/bin/env sh\n", true);
  EXPECT_EQ(std::filesystem::path(probe(script).path).filename(), "sh");
}

TEST_F(ElfProbe, ScriptThatNamesItselfEnds) {
  const std::string script = folder_ / "loop";
  folder_.write("loop", "#!" + script + "\n", true);
  EXPECT_EQ(probe(script).kind, ProgramKind::kUnknown);
}

TEST_F(ElfProbe, EveryTruncationIsSurvived) {
  const std::string program = build("whole", {});
  ASSERT_NE(program, "");
  const auto whole = std::filesystem::file_size(program);
  for (std::uintmax_t size = 0; size < whole; size += size < 1024 ? 1 : 509) {
    const std::string cut = folder_ / "cut";
    std::filesystem::copy_file(program, cut, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(cut, size);
    static_cast<void>(probe(cut));
    static_cast<void>(required_glibc_version(cut));
  }
  SUCCEED();
}

TEST_F(ElfProbe, NeededLibrariesAndVersionAreRead) {
  const std::string program = build("plain", {});
  EXPECT_NE(required_glibc_version(program), "");
  EXPECT_EQ(needed_libraries(program).front(), "libc.so.6");
}

}  // namespace
}  // namespace gpuprof::support
