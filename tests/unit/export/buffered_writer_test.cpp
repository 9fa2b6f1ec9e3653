// SPDX-License-Identifier: Apache-2.0
#include <rapidjson/document.h>

#include <cmath>
#include <random>

#include "analysis/export/encoding/buffered_writer.hpp"
#include "analysis/export/encoding/gzip_file.hpp"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

/// Longer than any text here.
constexpr std::size_t kAll = 1 << 20;

std::string parsed(const std::string& quoted_inner) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(("\"" + quoted_inner + "\"").c_str());
  EXPECT_FALSE(document.HasParseError()) << quoted_inner;
  return document.IsString() ? std::string(document.GetString(), document.GetStringLength()) : "";
}

TEST(Escaped, KeepsValidTextWhateverItHolds) {
  for (const std::string text :
       {"plain", "quote \" back \\ slash /", "line\nfeed\ttab\rreturn", "\x01\x1f\x7f",
        "käse 日本 😀 \xf4\x8f\xbf\xbf", "traceEvents\": [", ""})
    EXPECT_EQ(parsed(escape_json(text, kAll)), text);
}

TEST(Escaped, RepairsWhatIsNotUtf8) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(parsed(escape_json("a\xff"
                               "b",
                               kAll)),
            "a" + r + "b");
  EXPECT_EQ(parsed(escape_json("\xc0\xaf", kAll)), r + r);                  // overlong
  EXPECT_EQ(parsed(escape_json("\xed\xa0\x80", kAll)), r + r + r);          // surrogate
  EXPECT_EQ(parsed(escape_json("\xf4\x90\x80\x80", kAll)), r + r + r + r);  // beyond U+10FFFF
  EXPECT_EQ(parsed(escape_json("\xe6\x97", kAll)), r + r);                  // cut short
}

TEST(Escaped, IsJsonForAnyBytes) {
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random());
    parsed(escape_json(text, kAll));
  }
}

TEST(Escaped, CutsAtACharacter) {
  EXPECT_EQ(escape_json("ab日本", 6), "ab日");
  EXPECT_EQ(escape_json("ab日本", 5), "ab日");
  EXPECT_EQ(escape_json("ab日本", 4), "ab");
}

TEST(Number, IsNeverNaNOrInfinity) {
  std::string out;
  append_number(out, std::nan(""));
  append_number(out, INFINITY);
  append_number(out, 0.5);
  EXPECT_EQ(out, "000.5");
}

class GzipText : public test::ExportTest {};

TEST_F(GzipText, IsOneMemberAndComesBackWhole) {
  // given more text than all chunks in flight hold
  const std::string path = folder_ + "/t.gz";
  std::string expected;
  {
    auto file = GzipFile::create(path).take();
    BufferedWriter json(*file);
    for (std::uint64_t i = 0; i < 1'500'000; ++i) {
      json.reserve(64);
      json.number(i * 7919).raw(",").us(i).raw("\n");
      if (i % 1000 == 0) json.string(std::string(i % 5000, 'x'));
    }
    // when finished
    json.finish();
    const auto bytes = file->finish();
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(bytes.value(), std::filesystem::file_size(path));
  }
  for (std::uint64_t i = 0; i < 1'500'000; ++i) {
    char line[64];
    std::snprintf(
        line, sizeof line, "%llu,%llu.%03llu\n", static_cast<unsigned long long>(i * 7919),
        static_cast<unsigned long long>(i / 1000), static_cast<unsigned long long>(i % 1000));
    expected += line;
    if (i % 1000 == 0) expected += "\"" + std::string(i % 5000, 'x') + "\"";
  }
  // then one member holds it all, checksum included
  EXPECT_TRUE(test::unpack_one_member(test::read_file(path)) == expected);
}

TEST_F(GzipText, AnEmptyFileIsStillAMember) {
  const std::string path = folder_ + "/t.gz";
  auto file = GzipFile::create(path).take();
  ASSERT_TRUE(file->finish().ok());
  EXPECT_EQ(test::unpack_one_member(test::read_file(path)), "");
}

}  // namespace
}  // namespace gpuprof::exporter
