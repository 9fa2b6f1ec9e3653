// SPDX-License-Identifier: Apache-2.0
#include "support/text/csv.hpp"

#include <gtest/gtest.h>

#include "support/text/utf8.hpp"

namespace gpuprof::support {
namespace {

std::string cell(std::string_view text) {
  std::string room;
  return std::string(escape_csv_cell(text, room));
}

TEST(Csv, PlainTextsStayAsTheyAre) {
  for (const char* text : {"", "aten::mm", "1+1", "a-b", "'quoted'", "\xc3\xa9", " =1"})
    EXPECT_EQ(text, cell(text));
}

TEST(Csv, WhatPartsCellsStandsInQuotes) {
  EXPECT_EQ("\"a,b\"", cell("a,b"));
  EXPECT_EQ("\"a;b\"", cell("a;b"));
  EXPECT_EQ("\"a\tb\"", cell("a\tb"));
  EXPECT_EQ("\"a\r\nb\"", cell("a\r\nb"));
  EXPECT_EQ("\"say \"\"a\"\"\"", cell("say \"a\""));
}

TEST(Csv, NoTextIsAFormula) {
  EXPECT_EQ("'=1+1", cell("=1+1"));
  EXPECT_EQ("'+1", cell("+1"));
  EXPECT_EQ("'-1", cell("-1"));
  EXPECT_EQ("'@SUM(A1)", cell("@SUM(A1)"));
  EXPECT_EQ("\"'\t=1\"", cell("\t=1"));
  EXPECT_EQ("\"'\r\n=1\"", cell("\r\n=1"));
  EXPECT_EQ("\"'=HYPERLINK(\"\"x\"\",1)\"", cell("=HYPERLINK(\"x\",1)"));
}

TEST(Csv, BytesThatAreNoTextBecomeUnknownCharacters) {
  EXPECT_EQ(
      "a\xef\xbf\xbd"
      "b",
      cell("a\xff"
           "b"));
  EXPECT_EQ(
      "a\xef\xbf\xbd"
      "b",
      cell(std::string_view("a\0b", 3)));
  EXPECT_EQ("'=\xef\xbf\xbd", cell("=\xff"));
}

TEST(Utf8, OnlyWholeCharactersCount) {
  for (const char* good :
       {"", "a", "abcdefghi\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  // A half, overlong forms, a surrogate, beyond U+10FFFF, bytes in the second eight.
  for (const char* bad : {"\x80", "\xc3", "abcdefghij\xff", "\xc0\x80", "\xe0\x80\x80",
                          "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98", "1234567\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
    EXPECT_TRUE(is_utf8(to_utf8(bad))) << bad;
  }
  EXPECT_EQ("1234567\xef\xbf\xbd\xef\xbf\xbd", to_utf8("1234567\xe2\x82"));
}

}  // namespace
}  // namespace gpuprof::support
