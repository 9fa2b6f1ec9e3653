// SPDX-License-Identifier: Apache-2.0
//
// The page's file: whole or not there, with nothing in it that data could break out of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "analysis/report/page/page.hpp"
#include "analysis/report/page/page_file.hpp"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::report::page {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

/// What stands between two texts.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t from = text.find(before);
  if (from == std::string::npos) return "(missing)";
  const std::size_t begin = from + before.size();
  return text.substr(begin, text.find(after, begin) - begin);
}

std::string unpacked_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    word = word << 6 | static_cast<std::uint32_t>(digits.find(c));
    bits += 6;
    if (bits >= 8) out += static_cast<char>(word >> (bits -= 8) & 255);
  }
  return test::unpack_one_member(out);
}

TEST(PageFile, HoldsShortDataReadableAndWithoutMarkup) {
  const std::string page =
      page_text(PageKind::kReport, R"({"name":"</script><script>alert(1)</script><!--"})");
  const std::string data =
      between(page, "<script type=\"application/json\" id=\"data\">", "</script>");
  EXPECT_EQ(data, R"({"name":"\u003c/script>\u003cscript>alert(1)\u003c/script>\u003c!--"})");
  EXPECT_EQ(count(page, "alert(1)"), 1u);
}

TEST(PageFile, PacksLongDataSoThatTheyComeOutAgain) {
  std::string data = "[\"";
  for (int i = 0; data.size() < 700'001; ++i) data += "</script>" + std::to_string(i * 7919);
  data += "\"]";
  const std::string page = page_text(PageKind::kReport, data);
  EXPECT_THAT(page, Not(HasSubstr("7919</script>")));
  EXPECT_EQ(
      unpacked_base64(between(page, "<script type=\"application/gzip\" id=\"data\">", "</script>")),
      data);
}

TEST(PageFile, HasEveryMarkReplacedAndEveryScriptNamed) {
  const std::string page = page_text(PageKind::kReport, "{}");
  for (const char* mark : {"@NONCE@", "@STYLE@", "@DATA@", "@SCRIPTS@"})
    EXPECT_THAT(page, Not(HasSubstr(mark)));
  const std::string word = between(page, "script-src 'nonce-", "'");
  EXPECT_EQ(word.size(), 32u);
  // d3 and fifteen of ours; one more opens the data.
  EXPECT_EQ(count(page, "<script nonce=\"" + word + "\">"), 17u);
  EXPECT_EQ(count(page, "<script"), 18u) << "a script that ends early, or one without the word";
  EXPECT_EQ(count(page, "</script>"), 18u);
  EXPECT_THAT(page, HasSubstr("Redistributions in binary form")) << "d3's licence travels with it";
  EXPECT_NE(word, between(page_text(PageKind::kReport, "{}"), "script-src 'nonce-", "'"))
      << "a word that could be known before";
}

TEST(PageFile, OfAComparisonHasItsOwnNameAndScripts) {
  const std::string page = page_text(PageKind::kDiff, "{}");
  EXPECT_THAT(page, HasSubstr("<title>gpuprof diff</title>"));
  EXPECT_THAT(page_text(PageKind::kReport, "{}"), HasSubstr("<title>gpuprof report</title>"));
  EXPECT_EQ(count(page, "<script nonce="), 11u);
  EXPECT_THAT(page, Not(HasSubstr("></script>"))) << "a script that was not embedded";
  EXPECT_THAT(page_text(PageKind::kReport, "{}"), Not(HasSubstr("></script>")));
}

TEST(PageFile, LoadsNothingFromAnywhere) {
  const std::string page = page_text(PageKind::kReport, "{}");
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* word : {"src=\"http", "href=\"http", "@import", "url(http"})
    EXPECT_THAT(page, Not(HasSubstr(word)));
}

class WritePage : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpuprof-page-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    request_.path = folder_ + "/out.html";
    report_.processes.emplace_back();
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
  Report report_;
  PageRequest request_;
};

TEST_F(WritePage, LeavesThePageAndNothingElse) {
  const auto written = write_page(report_, {}, {}, request_);
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(written.value(), fs::file_size(request_.path));
  EXPECT_EQ(files(), 1u);
}

TEST_F(WritePage, ReplacesAFileOnlyWhenForced) {
  std::ofstream(request_.path) << "mine";
  const auto refused = write_page(report_, {}, {}, request_);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("--force"));
  EXPECT_EQ(test::read_file(request_.path), "mine");
  request_.force = true;
  EXPECT_TRUE(write_page(report_, {}, {}, request_).ok());
  EXPECT_THAT(test::read_file(request_.path), HasSubstr("<!DOCTYPE html>"));
  EXPECT_EQ(files(), 1u);
}

TEST_F(WritePage, SaysWhyItCannotAndLeavesNothing) {
  request_.path = folder_ + "/none/out.html";
  auto refused = write_page(report_, {}, {}, request_);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("No such file or directory"));
  request_.path = folder_;
  refused = write_page(report_, {}, {}, request_);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("is a folder"));
  EXPECT_EQ(files(), 0u);
}

TEST_F(WritePage, LeavesNothingOnAFullDisk) {
  request_.path = "/dev/full/out.html";
  EXPECT_FALSE(write_page(report_, {}, {}, request_).ok());
}

}  // namespace
}  // namespace gpuprof::report::page
