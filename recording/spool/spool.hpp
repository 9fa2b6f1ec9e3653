// SPDX-License-Identifier: Apache-2.0
//
// The append-only store between ring and file: one file a process, one log a session.
//
// Context:  daemon (writers: its ingest thread; readers: any one thread), cli through
//           analysis/commands
// Owns:     the files it opened
// Promises: what was flushed survives kill -9 of the daemon and a full disk; a reader stops at the
//           last whole block and says how many bytes it left; <= 24 bytes a record on average
// Not here: what the records mean (recording/model), what becomes of them (analysis/export)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "recording/model/events.hpp"
#include "recording/model/window.hpp"
#include "recording/session/session_options.hpp"
#include "support/result.hpp"

namespace gpuprof::spool {

/// Writes one process's events. Definitions and events in the order given.
class ProcessWriter : public model::EventSink {
 public:
  /// Creates `path` (must not exist). Blocks are compressed and written when full or at flush.
  static support::Result<std::unique_ptr<ProcessWriter>> create(const std::string& path);

  /// Writes the open block; called at least every 50 ms while events arrive. Disk errors are
  /// kept: ok() turns false, later events are counted as lost, nothing throws.
  virtual void flush() = 0;
  /// Flushes for the last time and gives buffers and file back; what follows is counted as lost.
  virtual void close() = 0;
  virtual bool ok() const = 0;
  virtual std::string failure() const = 0;  // sentence, empty while ok
  virtual int failed_with() const = 0;      // errno, 0 while ok
  virtual std::uint64_t bytes_written() const = 0;
  virtual std::uint64_t events_written() const = 0;  // timed events, not definitions
  virtual std::uint64_t events_lost() const = 0;
  /// The earliest begin of these, CLOCK_MONOTONIC; ~0: none.
  virtual std::uint64_t lost_from_ns() const = 0;
};

/// Which part of a process's spool to replay.
struct ReplayRange {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = ~0ULL;  // blocks wholly outside are skipped, definitions in them are not
  std::uint64_t most_bytes = ~0ULL;  // of the file: what is behind may be half written
};
struct ReplayResult {
  bool complete = true;          // false: the file ends inside a block
  std::uint64_t bytes_left = 0;  // after the last whole block
  bool damaged = false;          // the block there is whole in length but not in content
};

/// Replays `path` into `sink` in file order. Memory: one block.
/// @param progress Called for each block with the number of timed events in it.
support::Result<ReplayResult> replay(const std::string& path, const ReplayRange& range,
                                     model::EventSink& sink,
                                     const std::function<void(std::uint64_t)>& progress = {});

/// What a block's header tells without its events.
struct BlockSummary {
  std::uint64_t min_ns, max_ns;  // of its timed events
  std::uint32_t events;          // timed ones; 0: a block of definitions
};
/// The blocks of `path` that overlap `range`, without reading what is in them.
support::Result<std::vector<BlockSummary>> block_summaries(const std::string& path,
                                                           const ReplayRange& range);

/// Appends to SESSION_FOLDER/session.jsonl: one JSON object a line, flushed at each call. A line
/// that cannot be written, as on a full disk, is tried again with the next.
class SessionLog {
 public:
  static support::Result<std::unique_ptr<SessionLog>> create(
      const std::string& folder, const recording::SessionOptions& options, const std::string& host);
  virtual ~SessionLog() = default;
  virtual void process(std::uint32_t pid, const std::string& spool_file) = 0;
  virtual void window(const model::Window& window) = 0;
  /// A sentence that belongs into every file's metadata ("no step seen within 30 s", …).
  virtual void remark(const std::string& key, const std::string& message) = 0;
  /// Which processes get a file (contract: CUDA, operators or steps; else most CPU time).
  /// @param spools  names of their files in the folder: after an exec a pid has several.
  virtual void selected(const std::vector<std::uint32_t>& pids,
                        const std::vector<std::string>& spools) = 0;
  virtual void ended(const std::string& how) = 0;
  /// What is still not written and why; empty: all is.
  virtual std::string failure() const = 0;
};

struct ProcessEntry {
  std::uint32_t pid;
  std::string spool_path;
  /// Its spool was not written to its end: of what is later than this, something is lost.
  std::uint64_t truncated_at_ns = ~0ULL;
  /// Its whole blocks, where the daemon writes on while it is read.
  std::uint64_t bytes = ~0ULL;
};
/// A session folder read back, also one whose daemon died.
struct SessionView {
  std::string folder, host;
  recording::SessionOptions options;
  std::vector<ProcessEntry> processes;
  std::vector<model::Window> windows;        // empty: derive one per process from its events
  std::vector<std::uint32_t> selected;       // empty and !ended: choose again
  std::vector<std::string> selected_spools;  // names of their files; empty: not told
  std::vector<std::pair<std::string, std::string>> remarks;
  bool ended = false;
  std::string damage;  // what of the log could not be read; empty: nothing
};
support::Result<SessionView> open_session(const std::string& folder);

/// Of its whole blocks.
support::Result<ReplayResult> replay(const ProcessEntry& process, ReplayRange range,
                                     model::EventSink& sink,
                                     const std::function<void(std::uint64_t)>& progress = {});
support::Result<std::vector<BlockSummary>> block_summaries(const ProcessEntry& process,
                                                           ReplayRange range);

}  // namespace gpuprof::spool
