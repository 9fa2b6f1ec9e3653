// SPDX-License-Identifier: Apache-2.0
//
// The pattern of nvtx:NAME.
//
// Context:  tests
#include "inject/nvtx/step_pattern.hpp"

#include <gtest/gtest.h>

#include <string>

#include "inject/nvtx/nvtx.hpp"

namespace gpuprof::nvtx {
namespace {

bool matches(const char* pattern, const char* text) {
  return glob_matches(as_text(pattern), as_text(text));
}

TEST(NvtxStepName, MatchesWholeMessages) {
  EXPECT_TRUE(matches("step", "step"));
  EXPECT_FALSE(matches("step", "step 1"));
  EXPECT_FALSE(matches("step", "a step"));
  EXPECT_FALSE(matches("step", ""));
}

TEST(NvtxStepName, StarStandsForAnyText) {
  EXPECT_TRUE(matches("step*", "step 17"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b*c", "aXXbYYbZc"));
  EXPECT_FALSE(matches("a*b*c", "aXXbYYbZ"));
  EXPECT_TRUE(matches("**x", "x"));
}

TEST(NvtxStepName, QuestionMarkStandsForOneCharacter) {
  EXPECT_TRUE(matches("st?p", "step"));
  EXPECT_TRUE(matches("st?p", "st\xC3\xA9p"));
  EXPECT_FALSE(matches("st?p", "stp"));
}

TEST(NvtxStepName, NoPatternMatchesNothing) {
  set_step_pattern("");
  EXPECT_FALSE(matches_step_pattern(as_text("step")));
  set_step_pattern("ste?");
  EXPECT_TRUE(matches_step_pattern(as_text("step")));
  set_step_pattern("other");
  EXPECT_FALSE(matches_step_pattern(as_text("step")));
}

}  // namespace
}  // namespace gpuprof::nvtx
