// SPDX-License-Identifier: Apache-2.0
//
// Names that are no UTF-8, or formulas: every format's file is what its readers expect.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "support/text/utf8.hpp"
#include "tests/unit/export/written_fixture.hpp"

namespace gpuprof::exporter {
namespace {

constexpr const char* kBytes = "caf\xc3\xa9 \xff\xfe cut \xe2\x82";

class OddNames : public test::WriterTest {
 protected:
  /// The small program with bytes wherever a process can put them.
  static void odd_program(model::EventSink& to) {
    program(to);
    to.on(model::Process{kPid, 1, 1, 1, kStart, 1'700'000'000'000'000'000, kBytes, kBytes});
    to.on(model::ThreadName{kPid, 0, kStart, kBytes});
    to.on(model::Fact{kBytes, kBytes});
    to.on(model::Notice{kStart, 1, 1, 1, kBytes});
    to.on(model::Domain{9, kBytes});
    to.on(model::StringDef{90, kBytes});
    model::Device device{};
    device.name = 90;
    to.on(device);
    model::Range odd = range(50, 400, 500);
    odd.name = 90;
    odd.domain = 9;
    to.on(odd);
    model::Step where = step(8, 900, 950);
    where.where = 90;
    to.on(where);
  }

  std::string written(const std::string& format) {
    session_.host = kBytes;
    session_.options.version = kBytes;
    session_.remarks = {{"odd", kBytes}};
    window_.why = kBytes;
    return write(format);
  }
};

TEST_F(OddNames, TextFilesAreUtf8) {
  record(odd_program);
  for (const std::string format : {"tensorboard", "kineto"})
    EXPECT_TRUE(support::is_utf8(test::unpack_one_member(written(format)))) << format;
  for (const std::string format : {"speedscope", "folded", "csv"})
    EXPECT_TRUE(support::is_utf8(written(format))) << format;
}

TEST_F(OddNames, ProtobufFindsNothingToComplainAbout) {
  record(odd_program);
  for (const std::string format : {"xplane", "perfetto", "tfevents", "pprof"}) {
    testing::internal::CaptureStderr();
    EXPECT_FALSE(written(format).empty());
    EXPECT_EQ("", testing::internal::GetCapturedStderr()) << format;
  }
}

TEST_F(OddNames, SqliteTextsAreUtf8) {
  record(odd_program);
  written("sqlite");
  sqlite3* file = nullptr;
  ASSERT_EQ(SQLITE_OK,
            sqlite3_open_v2(written_.path.c_str(), &file, SQLITE_OPEN_READONLY, nullptr));
  std::vector<std::string> tables;
  const auto add = [](void* all, int, char** values, char**) {
    static_cast<std::vector<std::string>*>(all)->push_back(values[0]);
    return 0;
  };
  sqlite3_exec(file, "SELECT name FROM sqlite_master WHERE type = 'table'", add, &tables, nullptr);
  ASSERT_GT(tables.size(), 10u);
  const auto check = [](void* table, int columns, char** values, char** names) {
    for (int i = 0; i < columns; ++i)
      EXPECT_TRUE(values[i] == nullptr || support::is_utf8(values[i]))
          << *static_cast<std::string*>(table) << "." << names[i] << ": " << values[i];
    return 0;
  };
  for (std::string& table : tables)
    sqlite3_exec(file, ("SELECT * FROM " + table).c_str(), check, &table, nullptr);
  sqlite3_close(file);
}

TEST_F(OddNames, CsvHoldsNoFormula) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "=cmd|' /C calc'!A0"});
    to.on(op(1, 1, 20, 100));
    model::Allocation back{};
    back.start_ns = back.end_ns = kStart + 1000;
    back.bytes = -512;
    to.on(back);
  });
  const std::string text = write("csv");
  EXPECT_THAT(text, testing::HasSubstr("\r\noperator,'=cmd|' /C calc'!A0,20000,80000,"));
  // Numbers stay numbers.
  EXPECT_THAT(text, testing::HasSubstr(",-512,"));
}

}  // namespace
}  // namespace gpuprof::exporter
