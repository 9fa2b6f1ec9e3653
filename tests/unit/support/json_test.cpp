// SPDX-License-Identifier: Apache-2.0
#include "support/json.hpp"

#include <gtest/gtest.h>

namespace gpuprof::support {
namespace {

TEST(Json, WriterAndParserAgree) {
  JsonWriter writer;
  writer.begin_object().member("text", "a\"b\n").member("n", std::uint64_t{1} << 63);
  writer.member("list", std::vector<std::string>{"x", "y"}).end_object();
  const auto parsed = parse_json(writer.text());
  ASSERT_TRUE(parsed);
  EXPECT_STREQ(parsed.value()["text"].GetString(), "a\"b\n");
  EXPECT_EQ(parsed.value()["n"].GetUint64(), std::uint64_t{1} << 63);
  EXPECT_EQ(parsed.value()["list"].Size(), 2U);
}

TEST(Json, ErrorNamesTheByte) {
  const auto parsed = parse_json("{\"a\": }");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().sentence.find("byte 6"), std::string::npos) << parsed.error().sentence;
}

}  // namespace
}  // namespace gpuprof::support
