// SPDX-License-Identifier: Apache-2.0
//
// SQLite and CSV files, read back.
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <csignal>

#include "tests/unit/export/written_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class TableFiles : public test::WriterTest {
 protected:
  /// Rows of a query, columns joined by '|'.
  std::vector<std::string> ask(const std::string& sql) {
    sqlite3* file = nullptr;
    EXPECT_EQ(SQLITE_OK,
              sqlite3_open_v2(written_.path.c_str(), &file, SQLITE_OPEN_READONLY, nullptr));
    std::vector<std::string> rows;
    char* error = nullptr;
    sqlite3_exec(
        file, sql.c_str(),
        [](void* all, int columns, char** values, char**) {
          std::string row;
          for (int i = 0; i < columns; ++i)
            row += (i == 0 ? "" : "|") + std::string(values[i] == nullptr ? "-" : values[i]);
          static_cast<std::vector<std::string>*>(all)->push_back(row);
          return 0;
        },
        &rows, &error);
    EXPECT_EQ(nullptr, error) << error;
    sqlite3_free(error);
    sqlite3_close(file);
    return rows;
  }
};

TEST_F(TableFiles, SqliteAnswersWhatRanWhereAndWhy) {
  record(program);
  write("sqlite");
  EXPECT_THAT(ask("PRAGMA integrity_check"), ElementsAre("ok"));
  EXPECT_THAT(ask("SELECT s.value, k.start, k.end - k.start, k.deviceId, k.streamId, k.gridX, "
                  "k.gridY, k.step FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = "
                  "k.demangledName"),
              ElementsAre("add(float*)|70000|30000|0|7|4|2|7"));
  // Kernel to call to operator to the one around it.
  EXPECT_THAT(ask("SELECT c.start, i.value, o.value FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                  "JOIN CUPTI_ACTIVITY_KIND_RUNTIME c USING (correlationId) "
                  "JOIN OPERATORS a ON a.id = c.operatorId JOIN StringIds i ON i.id = a.nameId "
                  "JOIN OPERATORS b ON b.id = a.parentId JOIN StringIds o ON o.id = b.nameId"),
              ElementsAre("40000|in;ner, \"quoted\"|aten::outer"));
  // A thread's number, and a sample's frames from the innermost on.
  EXPECT_THAT(ask("SELECT globalTid / 0x1000000 % 0x1000000, globalTid % 0x1000000 FROM SAMPLES "
                  "WHERE blocked"),
              ElementsAre("4000|4001"));
  EXPECT_THAT(ask("WITH RECURSIVE up(id, parentId, frameId) AS (SELECT * FROM STACKS WHERE id = "
                  "(SELECT stackId FROM SAMPLES ORDER BY rowid LIMIT 1) UNION ALL SELECT s.* FROM "
                  "STACKS s JOIN up "
                  "ON s.id = up.parentId) SELECT name, file, line FROM up JOIN FRAMES f ON f.id = "
                  "frameId"),
              ElementsAre("step|train.py|20", "main|train.py|10"));
  EXPECT_THAT(ask("SELECT deviceId, bytes, allocated FROM ALLOCATIONS"), ElementsAre("0|512|2048"));
  EXPECT_THAT(ask("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"),
              ElementsAre("1700000000000000000"));
}

TEST_F(TableFiles, SqliteThatFindsNoRoomSaysSo) {
  record([](model::EventSink& to) {
    program(to);
    for (std::uint32_t i = 100; i < 60'000; ++i) to.on(call(i, 300, 301));
  });
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{}, small{64 * 1024, 0};
  getrlimit(RLIMIT_FSIZE, &before);
  small.rlim_max = before.rlim_max;
  setrlimit(RLIMIT_FSIZE, &small);
  session_.options.formats = {"sqlite"};
  const auto files = exporter::write_window(session_, window_, {kPid}, {});
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(files.error().message, HasSubstr("cannot write"));
  EXPECT_FALSE(std::filesystem::exists(session_.options.output))
      << "something half written, or a folder that nobody had made";
}

/// RFC 4180, as strictly as it reads.
std::vector<std::vector<std::string>> lines_of(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] != '"') {
        lines.back().back() += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        lines.back().back() += text[i++];
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      EXPECT_TRUE(lines.back().back().empty()) << "a quote inside a plain text";
      quoted = true;
    } else if (text[i] == ',') {
      lines.back().emplace_back();
    } else if (text.compare(i, 2, "\r\n") == 0) {
      lines.push_back({""});
      ++i;
    } else {
      lines.back().back() += text[i];
    }
  }
  EXPECT_EQ(std::vector<std::string>{""}, lines.back()) << "no line end at the end";
  lines.pop_back();
  return lines;
}

TEST_F(TableFiles, CsvHasALineAnEvent) {
  record(program);
  const auto lines = lines_of(write("csv"));
  std::vector<std::string> kinds;
  for (const auto& line : lines) {
    EXPECT_EQ(15u, line.size());
    kinds.push_back(line[0]);
  }
  EXPECT_THAT(
      kinds, ElementsAre("kind", "window", "step", "runtime_call", "operator", "operator", "kernel",
                         "sample", "sample", "sample", "sample_blocked", "memory"));
  EXPECT_THAT(lines, Contains(ElementsAre("operator", "in;ner, \"quoted\"", "30000", "30000",
                                          "4000", "4000", "", "", "", "2", "1", "7", "",
                                          "train.py(20): step;train.py(10): main", "")));
  EXPECT_THAT(lines, Contains(ElementsAre("kernel", "add(float*)", "70000", "30000", "4000", "",
                                          "0", "7", "77", "", "2", "7", "", "",
                                          "grid=4x2x1 block=1x1x1 registers=0 shared=0")));
}

}  // namespace
}  // namespace gpuprof::exporter
