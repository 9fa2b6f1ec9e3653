// SPDX-License-Identifier: Apache-2.0
//
// One process of the session being made: its spool, and what was written to it already.
//
// Context:  cli through analysis/commands
// Owns:     the spool's writer
// Promises: definitions that belong to the whole process are written once, whatever its files
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "analysis/import/classify/classify.hpp"
#include "analysis/import/store/interned_tables.hpp"
#include "recording/spool/spool.hpp"

namespace gpuprof::importer {

class SessionProcess {
 public:
  SessionProcess(InternedTables& names, std::unique_ptr<spool::ProcessWriter> writer,
                 std::uint32_t pid, std::string path)
      : writer_(std::move(writer)), reported_(names, *writer_), pid_(pid), path_(std::move(path)) {}

  std::uint32_t pid() const { return pid_; }
  const std::string& path() const { return path_; }
  spool::ProcessWriter& writer() { return *writer_; }
  DefinitionWriter& definitions() { return reported_; }

  /// What the file says of the process: itself, threads, devices, facts, losses.
  /// @param add_ns To the file's times, to make them the session's.
  /// @param start  When it was first heard of, on the session's line, and by the calendar.
  struct Start {
    std::uint64_t start_ns, start_real_ns;
  };
  void write_description(const TraceMetadata& head, const PidTrack& row, InternedTables& names,
                         const Start& start, const model::Window& window);
  /// Errors: what check() says.
  support::Result<void> end(std::uint64_t ts_ns);
  /// One thing that is missing. Once, however often it is said.
  void add_missing_message(const std::string& text, std::uint64_t ts_ns);
  /// An error if its spool could not be written.
  support::Result<void> check() const;

  model::RangeId next_range() { return ++last_range_; }
  std::uint64_t next_step() { return next_step_++; }
  void note_step_number(std::uint64_t number) { next_step_ = std::max(next_step_, number + 1); }
  /// Defines a context the first time it is seen.
  void context(const FileContent& content, std::uint32_t context, std::uint32_t device);
  void domain(std::uint32_t text, const InternedTables& names);

 private:
  void facts_of(const TraceMetadata& head);
  void losses_of(const TraceMetadata& head, const model::Window& window);
  void notices_of(const TraceMetadata& head, std::uint64_t ts_ns);
  void add_notice(const std::string& text, std::uint32_t level, std::uint64_t ts_ns);

  std::unique_ptr<spool::ProcessWriter> writer_;
  DefinitionWriter reported_;
  std::uint32_t pid_;
  std::string path_;
  bool described_ = false;
  model::RangeId last_range_ = 0;
  std::uint64_t next_step_ = 0;
  std::set<std::uint32_t> contexts_, devices_, domains_;
  std::set<std::string> facts_, notices_;
  std::uint64_t last_context_ = ~0ULL;
};

}  // namespace gpuprof::importer
