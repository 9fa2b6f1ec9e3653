// SPDX-License-Identifier: Apache-2.0
#include "analysis/export/output_paths.hpp"

#include <unistd.h>

#include <set>

#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

TEST(Pattern, ReplacesEverySign) {
  setenv("GPUPROF_TEST_JOB", "job/7", 1);
  EXPECT_EQ(expand_pattern("%h-%p-%n-%r-%q{GPUPROF_TEST_JOB}-%%", "node", 17, 3, "5").value(),
            "node-17-0003-5-job_7-%");
  EXPECT_EQ(expand_pattern("%q{GPUPROF_TEST_NOT_SET}x", "h", 1, 1, "").value(), "x");
  EXPECT_EQ(expand_pattern("%r", "h", 1, 1, "").value(), "norank");
}

TEST(Pattern, RefusesWhatItDoesNotKnow) {
  for (const char* bad : {"%x", "%", "%q", "%q{A", "%qA}"}) {
    const auto result = expand_pattern(bad, "h", 1, 1, "");
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_NE(result.error().message.find(bad), std::string::npos);
  }
}

class Naming : public test::ExportTest {
 protected:
  std::string path(const std::string& output, bool pattern, bool many = false,
                   std::uint32_t index = 0, std::uint32_t image = 0) {
    return path_of("tensorboard", output, pattern, many, index, image);
  }
  std::string path_of(const std::string& format, const std::string& output, bool pattern,
                      bool many = false, std::uint32_t index = 0, std::uint32_t image = 0) {
    session_.options.output = output;
    session_.options.output_is_pattern = pattern;
    window_.index = index;
    return file_path(session_.options, *find_format(format),
                     OutputNameFields{"node", "2", 17, window_, many, image})
        .take();
  }
};

TEST_F(Naming, InAFolderIsWorkerAndStamp) {
  EXPECT_EQ(path("/o", false), "/o/node_17.1700000000000000000.pt.trace.json.gz");
  window_.stamp_real_ns = 5;
  EXPECT_EQ(path("/o", false), "/o/node_17.0000000000000000005.pt.trace.json.gz");
}

TEST_F(Naming, OfAPatternIsWhatWasAsked) {
  EXPECT_EQ(path("/o/run.pt.trace.json.gz", true), "/o/run.pt.trace.json.gz");
  EXPECT_EQ(path("/o/run.pt.trace.json", true), "/o/run.pt.trace.json");
  EXPECT_EQ(path("/o/%r/%p.%n.pt.trace.json.gz", true, true, 4), "/o/2/17.0005.pt.trace.json.gz");
}

TEST_F(Naming, OfAPatternIsCompletedWhereFilesWouldCollide) {
  EXPECT_EQ(path("/o/run.pt.trace.json.gz", true, true), "/o/run_17.pt.trace.json.gz");
  EXPECT_EQ(path("/o/run.pt.trace.json.gz", true, false, 1),
            "/o/run.1700000000000000000.pt.trace.json.gz");
  EXPECT_EQ(path("/o/%p", true), "/o/17.1700000000000000000.pt.trace.json.gz");
}

TEST_F(Naming, TellsTheImagesOfAProcessApart) {
  EXPECT_EQ(path("/o", false, false, 0, 1), "/o/node_17.1700000000000000001.pt.trace.json.gz");
  EXPECT_EQ(path("/o/%p.pt.trace.json.gz", true, false, 0, 2), "/o/17-3.pt.trace.json.gz");
}

TEST_F(Naming, ProfilesOfAWindowShareAFolderOfTheirOwn) {
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(path_of("xplane", "/o", false, true),
            "/o/plugins/profile/2023_11_14_22_13_20_0001/node_17.xplane.pb");
  EXPECT_EQ(path_of("xplane", "/o", false, true, 1, 1),
            "/o/plugins/profile/2023_11_14_22_13_20_0002/node_17-2.xplane.pb");
  EXPECT_EQ(path_of("xplane", "/o/x_%p.xplane.pb", true), "/o/x_17.xplane.pb");
  unsetenv("TZ");
}

// X TEST_F(Naming, ScalarsOfAProcessAreOneRun) {
// X   EXPECT_EQ(path_of("tfevents", "/o", false),
// X             "/o/scalars/node_17/events.out.tfevents.1700000000.node.17.0001");
// X   EXPECT_EQ(path_of("tfevents", "/o", false, true, 4),
// X             "/o/scalars/node_17/events.out.tfevents.1700000000.node.17.0005");
// X }

TEST_F(Naming, OfAPatternEachFormatTakesItsOwnEnding) {
  session_.options.formats = exporter::format_names();
  for (const char* pattern : {"/o/%p.pt.trace.json", "/o/%p.pt.trace.json.gz", "/o/%p.xplane.pb"}) {
    std::set<std::string> paths;
    for (const Format& format : formats()) {
      const std::string path = path_of(std::string(format.name), pattern, true);
      EXPECT_TRUE(paths.insert(path).second) << path;
      EXPECT_TRUE(path.ends_with(uncompressed_suffix(format.suffix)) ||
                  path.ends_with(format.suffix));
      EXPECT_EQ(path.find("17."), path.rfind('/') + 1) << path;
    }
  }
}

TEST_F(Naming, StagingShowsNothingBeforeAllIsWritten) {
  {
    StagedFiles staging(false);
    const std::string temporary = staging.add(folder_ + "/new/a.pt.trace.json.gz").take();
    std::ofstream(temporary) << "x";
    EXPECT_FALSE(temporary.ends_with(".gz") || temporary.ends_with(".json"));
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/new/a.pt.trace.json.gz"));
    ASSERT_TRUE(staging.publish().ok());
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/new/a.pt.trace.json.gz"));
  }
  // and what was not published is gone
  std::string temporary;
  {
    StagedFiles staging(false);
    temporary = staging.add(folder_ + "/b").take();
    std::ofstream(temporary) << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(temporary));
}

TEST_F(Naming, StagingKeepsExistingFilesUnlessForced) {
  std::ofstream(folder_ + "/a") << "old";
  EXPECT_FALSE(StagedFiles(false).add(folder_ + "/a").ok());
  StagedFiles forced(true);
  std::ofstream(forced.add(folder_ + "/a").take()) << "new";
  ASSERT_TRUE(forced.publish().ok());
  EXPECT_EQ(test::read_file(folder_ + "/a"), "new");
  // a file that appeared meanwhile is not overwritten either
  StagedFiles late(false);
  std::ofstream(late.add(folder_ + "/c").take()) << "ours";
  std::ofstream(folder_ + "/c") << "theirs";
  EXPECT_FALSE(late.publish().ok());
  EXPECT_EQ(test::read_file(folder_ + "/c"), "theirs");
}

TEST_F(Naming, AHostFromAFileMakesNoFolderAndNoSecondLine) {
  EXPECT_EQ(worker_name("a/b\nc\x1b[31m\x7f", 7), "a_b_c_[31m__7");
  // Controls in UTF-8, and what is none.
  EXPECT_EQ(worker_name("a\xc2\x9b"
                        "2J\xff\xc3\xa9",
                        7),
            "a_2J_\xc3\xa9_7");
}

}  // namespace
}  // namespace gpuprof::exporter
