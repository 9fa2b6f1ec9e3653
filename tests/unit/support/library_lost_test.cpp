// SPDX-License-Identifier: Apache-2.0
#include "support/process/library_lost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuprof::support {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

const std::string kWithLibrary = "A=1\0LD_PRELOAD=/x/libgpuprof_inject.so:/y/liba.so\0B=2\0"s;

TEST(LostImage, ClearedEnvironmentIsNamed) {
  for (const std::string& environment : {""s, "A=1\0"s, "LD_PRELOAD=/y/liba.so\0"s}) {
    const std::string text = library_lost_message("/bin/env", "/bin/a", "", environment);
    EXPECT_THAT(text, HasSubstr("'/bin/env' continued as '/bin/a', which is not recorded"));
    EXPECT_THAT(text, HasSubstr("LD_PRELOAD was removed from its environment"));
  }
}

TEST(LostImage, ProgramThatCannotLoadTheLibraryIsTheReason) {
  EXPECT_THAT(library_lost_message("/bin/env", "/bin/a", "it is statically linked", kWithLibrary),
              HasSubstr("not recorded: it is statically linked"));
}

TEST(LostImage, NothingIsSaidWithoutAReason) {
  EXPECT_EQ(library_lost_message("/bin/a", "/bin/a", "", kWithLibrary), "");
  EXPECT_EQ(library_lost_message("/bin/a", "", "", ""), "") << "a process that cannot be seen";
}

TEST(LostImage, LooksAtALivingProcess) {
  EXPECT_THAT(library_lost_reason(static_cast<std::uint32_t>(getpid()), "/bin/x"),
              HasSubstr("'/bin/x' continued as"));
  EXPECT_EQ(library_lost_reason(1U << 30, "/bin/x"), "") << "no such process";
}

}  // namespace
}  // namespace gpuprof::support
