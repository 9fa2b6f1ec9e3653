// SPDX-License-Identifier: Apache-2.0
//
// Tables of a SQLite file, named as in Nsight Systems' exports where those have the same.
//
// Context:  daemon (export thread) | cli
// Owns:     numbers of the texts and frames written so far
// Promises: times are ns since the window's start, TARGET_INFO_SESSION_START_TIME says when that
//           was
// Not here: rows (sqlite_rows.cpp)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/export/resolve/event_resolver.hpp"
#include "analysis/export/resolve/stack_tree.hpp"
#include "analysis/export/tables/sqlite_file.hpp"

namespace gpuprof::exporter {

/// Numbers of the tables.
struct SqliteTableIds {
  explicit SqliteTableIds(SqliteFile& file);

  std::size_t strings, start_time, gpus, processes, threads, facts, missing, drops, kernels, copies,
      sets, graphs, syncs, calls, overheads, ranges, operators, modules, steps, samples, stacks,
      frames, allocations;
};

/// Indexes and views; after the rows, which is faster.
void create_indexes(SqliteFile& file);

class SqliteRowSink final : public ResolvedSink {
 public:
  SqliteRowSink(EventResolver& shown, SqliteFile& file);

  /// Devices, threads, facts, what is missing.
  void write_metadata();
  /// Stacks and frames.
  void finish();

  using ResolvedSink::on;
  void on(const ResolvedStep& step) override;
  void on(const ResolvedOperator& op) override;
  void on(const ResolvedRange& range) override;
  void on(const ResolvedApiCall& call) override;
  void on(const ResolvedGpuEvent<model::Kernel>& kernel) override;
  void on(const ResolvedGpuEvent<model::MemCopy>& copy) override;
  void on(const ResolvedGpuEvent<model::MemSet>& set) override;
  void on(const ResolvedGpuEvent<model::GraphExec>& graph) override;
  void on(const ResolvedSync& sync) override;
  void on(const ResolvedOverhead& overhead) override;
  void on(const ResolvedSample& sample) override;
  void on(const model::Allocation& allocation) override;
  void on(const ModuleCall& call) override;

 private:
  using Number = std::optional<std::uint64_t>;

  std::uint64_t text(std::string_view text);
  std::int64_t time(std::uint64_t ns) const {
    return static_cast<std::int64_t>(ns - shown_.prescan().window.start_ns);
  }
  std::uint64_t thread(std::uint32_t tid) const;
  std::uint64_t process() const;
  Number step(std::uint64_t ns) const;
  Number stack(model::StackId stack, std::uint64_t ns);
  static Number null_if_zero(std::uint64_t number) {
    return number == 0 ? Number() : Number(number);
  }

  EventResolver& shown_;
  SqliteFile& file_;
  const SqliteTableIds tables_;
  StackTree tree_;
  std::unordered_map<std::string, std::uint64_t> texts_;
  std::unordered_map<model::StackId, StackTree::Node> known_stacks_;
  std::string scratch_;
};

}  // namespace gpuprof::exporter
