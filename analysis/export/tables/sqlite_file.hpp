// SPDX-License-Identifier: Apache-2.0
//
// A SQLite file that is filled once, row by row.
//
// Context:  daemon (export thread) | cli
// Owns:     the database until finish or destruction
// Promises: one transaction, no journal: the file is worth nothing before finish(); after the first
//           failure nothing is written any more, and finish() tells which it was
// Not here: which tables there are (sqlite_tables.hpp)
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace gpuprof::exporter {

class SqliteFile {
 public:
  /// Creates `path`, which must not exist.
  static support::Result<std::unique_ptr<SqliteFile>> create(const std::string& path);
  ~SqliteFile();

  /// Statements without parameters.
  void exec(const std::string& sql);
  /// A table to insert() into, by the number returned.
  std::size_t table(const std::string& name, const std::string& columns);

  /// One row, a value for each column: numbers, texts, or nothing.
  template <typename... V>
  void insert(std::size_t table, const V&... values) {
    sqlite3_stmt* const row = inserts_[table];
    int column = 0;
    (bind(row, ++column, values), ...);
    step(row);
  }

  /// Commits and closes; bytes of the file.
  support::Result<std::uint64_t> finish();

 private:
  SqliteFile(std::string path, sqlite3* file) : path_(std::move(path)), file_(file) {}

  template <std::integral I>
  void bind(sqlite3_stmt* row, int column, I value) {
    bind_number(row, column, static_cast<std::int64_t>(value));
  }
  template <typename T>
  void bind(sqlite3_stmt* row, int column, const std::optional<T>& value) {
    value ? bind(row, column, *value) : bind_null(row, column);
  }
  void bind(sqlite3_stmt* row, int column, std::string_view text) { bind_text(row, column, text); }
  void bind(sqlite3_stmt* row, int column, const std::string& text) {
    bind_text(row, column, text);
  }

  void bind_number(sqlite3_stmt* row, int column, std::int64_t value);
  void bind_text(sqlite3_stmt* row, int column, std::string_view text);
  void bind_null(sqlite3_stmt* row, int column);
  void step(sqlite3_stmt* row);
  void record_error();
  void close();

  std::string path_;
  sqlite3* file_;
  std::vector<sqlite3_stmt*> inserts_;
  std::string failure_;  // a sentence; empty while all is well
};

}  // namespace gpuprof::exporter
