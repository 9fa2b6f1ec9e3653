// SPDX-License-Identifier: Apache-2.0
//
// Tables of names: full, foreign, wide.
//
// Context:  tests
#include <gtest/gtest.h>

#include <string>

#include "inject/nvtx/handle_tables.hpp"

namespace gpuprof::nvtx {
namespace {

std::string wide_as_utf8(const wchar_t* wide, std::uint32_t room = 64) {
  char buffer[64];
  const TextView text = to_utf8(wide, buffer, room);
  return {text.data, text.bytes};
}

TEST(NvtxNames, ForeignHandlesHaveNoName) {
  ASSERT_TRUE(map_tables());
  int stranger = 0;
  EXPECT_EQ(domain_index(reinterpret_cast<nvtxDomainHandle_t>(&stranger)), 0u);
  EXPECT_EQ(string_text(reinterpret_cast<nvtxStringHandle_t>(&stranger)).bytes, 0u);
  EXPECT_EQ(domain_index(nullptr), 0u);
  EXPECT_EQ(string_text(nullptr).bytes, 0u);
}

TEST(NvtxNames, AFullTableOfDomainsAnswersTheDefaultOne) {
  ASSERT_TRUE(map_tables());
  nvtxDomainHandle_t last{};
  for (std::uint32_t i = 0; i < kDomains + 10; ++i)
    last = add_domain(as_text(("full " + std::to_string(i)).c_str()));
  EXPECT_NE(last, nullptr) << "a null handle would make the program think that NVTX is off";
  EXPECT_EQ(domain_index(last), 0u);
}

TEST(NvtxNames, AFullTableOfStringsAnswersNone) {
  ASSERT_TRUE(map_tables());
  nvtxStringHandle_t last{};
  for (std::uint32_t i = 0; i < kStrings + 10; ++i) last = add_string({"s", 1});
  EXPECT_EQ(last, nullptr);
  EXPECT_EQ(add_string({"s", 1}), nullptr);
}

TEST(NvtxNames, WideTextIsCutBetweenCharacters) {
  EXPECT_EQ(wide_as_utf8(L"aé€\U0001F600"), "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(wide_as_utf8(L"aé€", 5), "a\xC3\xA9");
  const wchar_t lone_surrogate[] = {static_cast<wchar_t>(0xD800), 0};
  EXPECT_EQ(wide_as_utf8(lone_surrogate), "\xEF\xBF\xBD");
  EXPECT_EQ(wide_as_utf8(nullptr), "");
}

}  // namespace
}  // namespace gpuprof::nvtx
