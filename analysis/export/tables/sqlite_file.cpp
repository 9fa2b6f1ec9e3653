// SPDX-License-Identifier: Apache-2.0
//
// SqliteFile over the C library.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/tables/sqlite_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "analysis/messages/export_files.hpp"
#include "support/process/write_error_signals.hpp"
#include "support/text/utf8.hpp"

namespace gpuprof::exporter {

support::Result<std::unique_ptr<SqliteFile>> SqliteFile::create(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored))
    return support::error(
        fmt::format(messages::export_files::kCannotCreate, path, std::strerror(EEXIST)));
  sqlite3* raw = nullptr;
  const int status =
      sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<SqliteFile> file(new SqliteFile(path, raw));
  if (status != SQLITE_OK)
    return support::error(
        fmt::format(messages::export_files::kCannotCreate, path,
                    raw == nullptr ? messages::export_files::kOutOfMemory : sqlite3_errmsg(raw)));
  file->exec("PRAGMA journal_mode=OFF");
  file->exec("PRAGMA synchronous=OFF");
  file->exec("PRAGMA locking_mode=EXCLUSIVE");
  file->exec("PRAGMA cache_size=-32000");  // KiB
  file->exec("BEGIN");
  return file;
}

SqliteFile::~SqliteFile() { close(); }

void SqliteFile::close() {
  for (sqlite3_stmt* const insert : inserts_) sqlite3_finalize(insert);
  inserts_.clear();
  sqlite3_close(file_);
  file_ = nullptr;
}

/// SQLite's words for a full disk, the system's for others; it does not keep those of each write.
void SqliteFile::record_error() {
  const int last = errno;
  if (!failure_.empty()) return;
  const bool full = sqlite3_errcode(file_) == SQLITE_FULL;
  const bool input_output = sqlite3_errcode(file_) == SQLITE_IOERR;
  const int known = sqlite3_system_errno(file_);
  const int why = full ? ENOSPC : known == 0 && input_output ? last : known;
  failure_ = fmt::format(messages::export_files::kCannotWriteHint, path_,
                         why != 0 ? std::strerror(why) : sqlite3_errmsg(file_),
                         support::write_error_hint(why));
}

void SqliteFile::exec(const std::string& sql) {
  if (!failure_.empty()) return;
  if (sqlite3_exec(file_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) record_error();
}

std::size_t SqliteFile::table(const std::string& name, const std::string& columns) {
  exec(fmt::format("CREATE TABLE {}({})", name, columns));
  std::string insert = fmt::format("INSERT INTO {} VALUES(?", name);
  for (auto commas = std::count(columns.begin(), columns.end(), ','); commas > 0; --commas)
    insert += ",?";
  insert += ")";
  sqlite3_stmt* statement = nullptr;
  if (failure_.empty() && sqlite3_prepare_v3(file_, insert.c_str(), -1, SQLITE_PREPARE_PERSISTENT,
                                             &statement, nullptr) != SQLITE_OK)
    record_error();
  inserts_.push_back(statement);
  return inserts_.size() - 1;
}

void SqliteFile::bind_number(sqlite3_stmt* row, int column, std::int64_t value) {
  sqlite3_bind_int64(row, column, value);
}

void SqliteFile::bind_text(sqlite3_stmt* row, int column, std::string_view text) {
  if (!support::is_utf8(text)) {
    const std::string repaired = support::to_utf8(text);
    sqlite3_bind_text(row, column, repaired.data(), static_cast<int>(repaired.size()),
                      SQLITE_TRANSIENT);
    return;
  }
  // A null pointer would be no text at all.
  sqlite3_bind_text(row, column, text.empty() ? "" : text.data(), static_cast<int>(text.size()),
                    SQLITE_STATIC);
}

void SqliteFile::bind_null(sqlite3_stmt* row, int column) { sqlite3_bind_null(row, column); }

void SqliteFile::step(sqlite3_stmt* row) {
  if (!failure_.empty()) return;
  if (sqlite3_step(row) != SQLITE_DONE) record_error();
  sqlite3_reset(row);
}

support::Result<std::uint64_t> SqliteFile::finish() {
  exec("COMMIT");
  close();
  if (!failure_.empty()) return support::error(failure_);
  std::error_code failed;
  const std::uint64_t bytes = std::filesystem::file_size(path_, failed);
  if (failed)
    return support::error(
        fmt::format(messages::export_files::kCannotWrite, path_, failed.message()));
  return bytes;
}

}  // namespace gpuprof::exporter
