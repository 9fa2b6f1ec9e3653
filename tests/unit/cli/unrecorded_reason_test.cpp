// SPDX-License-Identifier: Apache-2.0
#include "cli/target/unrecorded_reason.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpuprof::cli {
namespace {

using support::ProgramInfo;
using support::ProgramKind;
using testing::HasSubstr;

constexpr std::uint64_t kSecondNs = 1'000'000'000;

ProgramInfo of_kind(ProgramKind kind) {
  ProgramInfo facts;
  facts.kind = kind;
  return facts;
}

TEST(NothingRecorded, LoaderThatFailed) {
  const std::string text =
      unrecorded_reason(of_kind(ProgramKind::kDynamic), "./a", 127 << 8, 12'000'000);
  EXPECT_THAT(text, HasSubstr("'./a' exited with status 127"));
  EXPECT_THAT(text, HasSubstr("(a library or command is missing) after 12 ms"));
}

TEST(NothingRecorded, KilledAtOnce) {
  const std::string text = unrecorded_reason(of_kind(ProgramKind::kDynamic), "a", 9, 1'000'000);
  EXPECT_THAT(text, HasSubstr("was killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(text, testing::Not(HasSubstr("missing")));
}

TEST(NothingRecorded, PreloadThatDidNotArrive) {
  EXPECT_THAT(unrecorded_reason(of_kind(ProgramKind::kDynamic), "a", 0, 5 * kSecondNs),
              HasSubstr("LD_PRELOAD did not reach it"));
  EXPECT_THAT(unrecorded_reason(of_kind(ProgramKind::kDynamic), "a", 9, 5 * kSecondNs),
              HasSubstr("LD_PRELOAD did not reach it"));
  EXPECT_THAT(unrecorded_reason(of_kind(ProgramKind::kDynamic), "a", 0, 300 * kSecondNs),
              HasSubstr("without the gpuprof library: LD_PRELOAD did not reach it"));
}

TEST(NothingRecorded, AStartOfSecondsIsNotTakenForARunWithoutTheLibrary) {
  for (const int wait_status : {9, 127 << 8, 0}) {
    const std::string text =
        unrecorded_reason(of_kind(ProgramKind::kDynamic), "a", wait_status, 5 * kSecondNs);
    EXPECT_THAT(text, HasSubstr(", before the gpuprof library had started"));
    EXPECT_THAT(text, HasSubstr("the machine was too busy, the program first changed its root"));
    EXPECT_THAT(text, testing::Not(HasSubstr("ran for")));
    EXPECT_EQ(wait_status == 127 << 8,
              text.find("a library or command is missing") != std::string::npos);
  }
}

TEST(NothingRecorded, AShortCommandMayHaveEndedBeforeTheLibraryHadStarted) {
  const std::string text = unrecorded_reason(of_kind(ProgramKind::kDynamic), "true", 0, 42'000'000);
  EXPECT_THAT(text, HasSubstr("'true' ended after 42 ms, which is too short"));
  EXPECT_THAT(text, HasSubstr("LD_PRELOAD did not reach it"));
}

TEST(NothingRecorded, StaticProgramWhoseChildrenDidNotLoadEither) {
  EXPECT_THAT(unrecorded_reason(of_kind(ProgramKind::kStatic), "a", 0, kSecondNs),
              HasSubstr("no program that it started did"));
}

}  // namespace
}  // namespace gpuprof::cli
