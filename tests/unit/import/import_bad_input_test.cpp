// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/import/import_fixture.hpp"

namespace gpuprof::test {
namespace {

class BadInput : public ImportTest {
 protected:
  /// Imports a file of this text: it must fail with a sentence that names the file and says this.
  void expect(const std::string& text, const std::string& says,
              const std::string& name = "t.json") {
    const std::string path = file(name, text);
    const std::string failure = failure_of({path});
    EXPECT_NE(failure.find(says), failure.npos)
        << "said: " << failure << "\nfor: " << text.substr(0, 90);
    EXPECT_NE(failure.find(path), failure.npos) << failure;
    EXPECT_EQ(failure.find('\n'), failure.npos) << failure;
  }
  const std::string good_ =
      trace(complete("cpu_op", "aten::mm", 1, 2) + "," + complete("cpu_op", "aten::mm", 5, 2));
};

TEST_F(BadInput, IsOneSentenceThatNamesTheFile) {
  expect("", "is empty");
  expect("   \n\n", "is not a trace");
  expect("hello", "is not a trace");
  expect("\x89PNG\r\n", "is not a trace");
  expect("{}", "has no traceEvents");
  expect("[1, 2, 3]", "is a list of something other than events");
  expect("[\"a\"]", "is a list of something other than events");
  expect("{\"a\": [1, 2], \"b\": {\"c\": null}}", "has no traceEvents");
  expect("{\"traceEvents\": 3}", "traceEvents is not a list");
  expect("{\"traceEvents\": {}}", "traceEvents is not a list");
  expect("{\"traceEvents\": []}", "without events");
  expect("{\"traceEvents\": [], \"traceEvents\": []}", "two lists of events");
  expect(
      trace(
          "{\"ph\":\"X\",\"cat\":\"thing\",\"name\":\"x\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}"),
      "trace of another tool");
  expect("{\"schemaVersion\": 2, \"traceEvents\": []}", "use a newer gpuprof");
  expect("{\"a\" 1}", "expected a colon");
  expect("{\"a\": 1 \"b\": 2}", "has no traceEvents");
  expect("{\"a\": 1 2}", "a comma");
  expect("{a: 1}", "the name of a member");
  expect(trace("{\"ph\":\"X\" cat:\"cpu_op\"}" + std::string(100, ' ')), "is damaged at line 1");
  expect(trace("{\"ph\":\"X\",\"name\":0x1f}" + std::string(100, ' ')), "is damaged at line 1");
}

TEST_F(BadInput, ThePlaceOfDamageIsSaid) {
  const std::string lines =
      trace(complete("cpu_op", "good", 1, 2) + ",\n\n  {\"ph\": \"X\", \"name\": what, \"ts\": 5}",
            "\"schemaVersion\": 1");
  const std::string at = fmt::format("at line 3, column 23 (byte {})", lines.find("what"));
  expect(lines, at);
  expect(lines, "around `{\"ph\": \"X\", \"name\": what, \"ts\": 5}]}`");
  expect(lines, "(probably written by torch.profiler (Kineto))");
  const std::string packed = gzipped(lines);
  expect(packed, at, "t.json.gz");
}

TEST_F(BadInput, CutAnywhereIsSaidToBeCut) {
  for (std::size_t bytes = 1; bytes + 1 < good_.size(); ++bytes) {
    const std::string failure = failure_of({file("t.json", good_.substr(0, bytes))});
    EXPECT_NE(failure.find("is truncated or still being written"), failure.npos)
        << bytes << ": " << failure;
  }
  // The closing brace of the whole alone.
  EXPECT_NE(failure_of({file("t.json", good_.substr(0, good_.size() - 1))}), "");
}

TEST_F(BadInput, CutGzipDataAreSaidToBeCut) {
  const std::string packed = gzipped(good_);
  for (std::size_t bytes = 4; bytes < packed.size(); ++bytes) {
    const std::string failure = failure_of({file("t.json.gz", packed.substr(0, bytes))});
    EXPECT_NE(failure.find("is truncated or still being written"), failure.npos)
        << bytes << ": " << failure;
  }
}

TEST_F(BadInput, DamagedGzipDataAreRefused) {
  std::string packed = gzipped(good_);
  packed[packed.size() - 6] ^= 0x55;  // the checksum
  expect(packed, "is damaged", "t.json.gz");
  packed = gzipped("no json");
  expect(packed, "is not a trace", "t.json.gz");
}

TEST_F(BadInput, DepthIsBounded) {
  const std::string deep(1'000'000, '[');
  expect(trace("{\"ph\":\"X\",\"args\":" + deep), "nested more than");
  expect("{\"a\":" + deep, "nested more than");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  expect(trace(objects), "nested more than");
}

TEST_F(BadInput, AnEventIsNoLongerThanTheBound) {
  const std::string path = folder_ + "/long.json";
  std::ofstream out(path);
  out << "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"";
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 70; ++i) out << piece;
  out << "\"}]}";
  out.close();
  const std::string failure = failure_of({path});
  EXPECT_NE(failure.find("of more than 64 MiB"), failure.npos) << failure;
}

TEST_F(BadInput, WhatIsThereNotOrNoFileIsSaid) {
  EXPECT_NE(failure_of({folder_ + "/none.json"}).find("none.json"), std::string::npos);
  EXPECT_NE(failure_of({folder_}), "");
}

TEST_F(BadInput, NothingIsLeftBehind) {
  const auto imports = [] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp"))
      count += entry.path().filename().string().starts_with("gpuprof-import-0") ? 1 : 0;
    return count;
  };
  const std::size_t before = imports();
  EXPECT_NE(failure_of({file("t.json", "{")}), "");
  EXPECT_EQ(failure_of({file("t.json", good_)}), "");
  const std::string folder = imported_->folder;
  EXPECT_TRUE(std::filesystem::exists(folder + "/session.jsonl"));
  imported_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(imports(), before);
}

}  // namespace
}  // namespace gpuprof::test
