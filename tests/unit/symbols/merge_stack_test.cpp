// SPDX-License-Identifier: Apache-2.0
//
// How native and Python frames are laid together.
#include "analysis/symbols/merge_stack.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gpuprof::symbols {
namespace {

constexpr auto kN = NativeRole::kVisible;
constexpr auto kE = NativeRole::kEval;
constexpr auto kI = NativeRole::kInterpreter;
constexpr auto kA = NativeRole::kInterpreterUnnamed;
constexpr auto kH = NativeRole::kHidden;

/// "p" plain frame, "e" entry frame, "s" shim.
std::vector<model::PythonFrame> python(const std::string& kinds) {
  std::vector<model::PythonFrame> frames;
  for (const char kind : kinds)
    frames.push_back({1, 0, kind == 'e' ? model::kPyEntry : kind == 's' ? model::kPyShim : 0});
  return frames;
}

std::string merge(std::vector<NativeRole> native, const std::string& kinds, bool* partial,
                  std::uint32_t flags = 0) {
  const MergedStack merged = merge_stack(native, python(kinds), flags);
  if (partial != nullptr) *partial = merged.partial;
  std::string text;
  for (const MergedFrame& frame : merged.frames)
    text += (frame.python ? "P" : "N") + std::to_string(frame.index);
  return text;
}

TEST(Merge, OneEvaluationAFrameUpTo310) {
  bool partial = true;
  EXPECT_EQ(merge({kN, kE, kI, kE, kN}, "ee", &partial), "N0P0P1N4");
  EXPECT_FALSE(partial);
}

TEST(Merge, EntryFrameEndsARunIn311) {
  bool partial = true;
  EXPECT_EQ(merge({kE, kN, kE, kN}, "ppepe", &partial), "P0P1P2N1P3P4N3");
  EXPECT_FALSE(partial);
}

TEST(Merge, ShimsEndRunsAndAreNotShownFrom312) {
  bool partial = true;
  EXPECT_EQ(merge({kN, kE, kN, kE}, "pspps", &partial), "N0P0N2P2P3");
  EXPECT_FALSE(partial);
}

TEST(Merge, EvaluationWithoutFramesYetTakesNone) {
  bool partial = true;
  EXPECT_EQ(merge({kE, kN, kE, kN}, "ps", &partial), "N1P0N3");
  EXPECT_FALSE(partial);
  EXPECT_EQ(merge({kE, kN, kE, kN}, "sps", &partial), "N1P1N3") << "its shim is there already";
  EXPECT_FALSE(partial);
}

TEST(Merge, AppendsWhatIsLeftAndSaysSo) {
  bool partial = false;
  EXPECT_EQ(merge({kN, kE}, "pspsps", &partial), "N0P0P2P4");
  EXPECT_TRUE(partial);
}

TEST(Merge, KeepsTheInnermostRunOfABrokenChainAtTheInnermostEvaluation) {
  bool partial = false;
  EXPECT_EQ(merge({kE, kN, kE}, "p", &partial, model::kStackPythonPartial), "P0N1");
  EXPECT_TRUE(partial);
}

TEST(Merge, IsNotPartialWhereTheNativeStackWasCut) {
  bool partial = true;
  EXPECT_EQ(merge({kN, kE}, "psps", &partial, model::kStackNativeTruncated), "N0P0P2");
  EXPECT_FALSE(partial);
}

TEST(Merge, ShowsPythonAloneWithoutNativeFrames) {
  bool partial = true;
  EXPECT_EQ(merge({}, "pps", &partial), "P0P1");
  EXPECT_FALSE(partial);
}

TEST(Merge, ShowsTheInterpreterWhereNoPythonFrameIs) {
  bool partial = true;
  EXPECT_EQ(merge({kI, kN}, "", &partial), "N0N1");
  EXPECT_FALSE(partial);
}

TEST(Merge, NamelessInterpreterCodeStandsForAMissingEvaluation) {
  bool partial = true;
  EXPECT_EQ(merge({kN, kA, kN, kE, kA}, "psps", &partial), "N0P0N2P2");
  EXPECT_FALSE(partial);
}

TEST(Merge, HidesOurOwnFrames) { EXPECT_EQ(merge({kH, kH, kN}, "", nullptr), "N2"); }

TEST(Merge, GivesEveryPythonFrameOnceInOrder) {
  unsigned seed = 7;
  for (int round = 0; round < 5000; ++round) {
    std::string kinds;
    std::vector<NativeRole> native;
    const auto next = [&seed](unsigned limit) {
      seed = seed * 1103515245 + 12345;
      return (seed >> 16) % limit;
    };
    for (unsigned i = next(9); i > 0; --i) kinds.push_back("pes"[next(3)]);
    for (unsigned i = next(9); i > 0; --i) native.push_back(static_cast<NativeRole>(next(5)));
    const MergedStack merged = merge_stack(native, python(kinds), next(4));
    std::string expected, got;
    for (std::size_t i = 0; i < kinds.size(); ++i)
      if (kinds[i] != 's') expected += std::to_string(i);
    for (const MergedFrame& frame : merged.frames)
      if (frame.python) got += std::to_string(frame.index);
    ASSERT_EQ(got, expected) << kinds;
  }
}

}  // namespace
}  // namespace gpuprof::symbols
