// SPDX-License-Identifier: Apache-2.0
#include "analysis/import/detect_input.hpp"

#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

class PathKind : public ImportTest {
 protected:
  const std::string json_ = "{\"traceEvents\":[]}";

  importer::DetectedInput found(const std::string& path) {
    auto result = importer::detect_input(path);
    EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
    return result ? result.take() : importer::DetectedInput{};
  }
  std::string message(const std::string& path) {
    const auto result = importer::detect_input(path);
    return result ? "" : result.error().message;
  }
};

TEST_F(PathKind, FilesAreKnownByTheirContent) {
  EXPECT_EQ(found(file("a.txt", " \n" + json_)).traces.size(), 1u);
  EXPECT_EQ(found(file("b.json.gz", gzipped(json_))).traces.size(), 1u);
  EXPECT_NE(message(file("c.json.gz", "PK")).find("neither gzip nor JSON"), std::string::npos);
  EXPECT_NE(message(file("d.json", "hello")).find("it is not JSON"), std::string::npos);
  EXPECT_NE(message(file("e.json.gz", gzipped("hello"))).find("gzip data is not JSON"),
            std::string::npos);
  EXPECT_NE(message(file("f.json", "")).find("is empty"), std::string::npos);
  EXPECT_NE(message(folder_ + "/none").find("no such file or folder"), std::string::npos);
  EXPECT_NE(message("/dev/null").find("neither a file nor a folder"), std::string::npos);
}

TEST_F(PathKind, TextInUtf16IsKnown) {
  std::string little, big;
  for (const char c : json_) {
    little += {c, '\0'};
    big += {'\0', c};
  }
  for (const std::string& text : {little, big, "\xff\xfe" + little, "\xfe\xff" + big})
    for (const std::string& bytes : {text, gzipped(text)})
      EXPECT_NE(message(file("a.json", bytes)).find("UTF-16"), std::string::npos);
}

TEST_F(PathKind, ASessionIsItsFolderItsLogOrWhatItLiesIn) {
  const std::string log = file("out/.gpuprof-spool-12-1/session.jsonl", "{}");
  const std::string spool = file("out/.gpuprof-spool-12-1/4000.spool", "x");
  file("out/h_1.2.pt.trace.json", json_);
  const std::string folder = folder_ + "/out/.gpuprof-spool-12-1";
  EXPECT_EQ(found(folder).session, folder);
  EXPECT_EQ(found(log).session, folder);
  EXPECT_EQ(found(spool).session, folder);
  EXPECT_EQ(found(folder_ + "/out").session, folder);
  file("out/.gpuprof-spool-13-1/session.jsonl", "{}");
  EXPECT_NE(message(folder_ + "/out").find("several runs"), std::string::npos);
}

TEST_F(PathKind, FoldersOfTracesAreReadAsTheirViewersDo) {
  file("flat/h_1.2.pt.trace.json", json_);
  file("flat/h_1.3.pt.trace.json.gz", gzipped(json_));
  file("flat/notes.json", json_);
  file("flat/kineto/span_0001/h_1.2.pt.trace.json", json_);
  EXPECT_EQ(found(folder_ + "/flat").traces.size(), 2u);
  ASSERT_EQ(found(folder_ + "/flat").beside.size(), 1u);
  EXPECT_EQ(found(folder_ + "/flat").beside[0].first, folder_ + "/flat/notes.json");
  file("hta/kineto/span_0001/a.pt.trace.json", json_);
  file("hta/kineto/span_0002/a.pt.trace.json", json_);
  EXPECT_EQ(found(folder_ + "/hta").traces.size(), 2u);
  EXPECT_EQ(found(folder_ + "/hta/kineto").traces.size(), 2u);
  EXPECT_EQ(found(folder_ + "/hta/kineto/span_0002").traces.size(), 1u);
  file("log/run1/rank0.json", json_);
  EXPECT_EQ(found(folder_ + "/log").found.size(), 1u);
  file("log/run2/rank0.json", json_);
  EXPECT_NE(message(folder_ + "/log").find("several runs"), std::string::npos);
  std::filesystem::create_directories(folder_ + "/bare/inner");
  EXPECT_NE(message(folder_ + "/bare").find("contains no gpuprof session"), std::string::npos);
}

}  // namespace
}  // namespace gpuprof::test
