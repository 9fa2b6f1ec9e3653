// SPDX-License-Identifier: Apache-2.0
#include "support/text/json.hpp"

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

TEST(Json, WhatIsNoNumberIsNull) {
  JsonWriter writer;
  writer.begin_array().value(std::nan("")).value(HUGE_VAL).value(0.5).end_array();
  const auto parsed = parse_json(writer.text());
  ASSERT_TRUE(parsed) << writer.text();
  EXPECT_TRUE(parsed.value()[0].IsNull() && parsed.value()[1].IsNull());
  EXPECT_EQ(parsed.value()[2].GetDouble(), 0.5);
}

TEST(Json, BytesThatAreNoTextBecomeUnknownCharacters) {
  JsonWriter writer;
  writer.begin_object().member("k\xff", "v\xff").end_object();
  EXPECT_TRUE(is_utf8(writer.text()));
}

TEST(Json, ErrorNamesTheByte) {
  const auto parsed = parse_json("{\"a\": }");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("byte 6"), std::string::npos) << parsed.error().message;
}

TEST(ParseJson, DepthIsRefusedOrReadWithoutCostingStack) {
  const std::string open(1'000'000, '[');
  EXPECT_FALSE(parse_json(open).ok());
  EXPECT_TRUE(parse_json(open + std::string(open.size(), ']')).ok());
}

}  // namespace
}  // namespace gpuprof::support
