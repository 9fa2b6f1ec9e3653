// SPDX-License-Identifier: Apache-2.0
//
// Whatever a person names - a session's spool, a trace file, a folder of either - as a session.
//
// Context:  cli
// Owns:     the temporary session folder of imported traces, as long as the Source lives
// Promises: what is named is only read
// Not here: reading the traces (analysis/import)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "recording/spool/spool.hpp"
#include "support/result.hpp"

namespace gpuprof::importer {
struct ImportedSession;
}

namespace gpuprof::commands {

struct RecordingSource {
  RecordingSource();
  RecordingSource(RecordingSource&&) noexcept;
  RecordingSource& operator=(RecordingSource&&) noexcept;
  ~RecordingSource();

  spool::SessionView view;
  /// Set where the session was made of trace files; `view` reads its folder.
  std::unique_ptr<importer::ImportedSession> imported;
  /// As the person named it.
  std::string named;

  bool is_imported() const { return imported != nullptr; }
};

/// Bytes of trace files read, and how many there are; not called for a spool.
using SourceProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

/// Opens what `path` names.
///
/// Errors: one sentence: nothing there, nothing we read, cut short, of a newer gpuprof.
support::Result<RecordingSource> open_recording(const std::string& path,
                                                const SourceProgress& progress);
/// The same for several paths: either one of them all (a spool), or trace files that together are
/// one session.
support::Result<RecordingSource> open_recording(const std::vector<std::string>& paths,
                                                const SourceProgress& progress);

/// With --force a slip of the hand would replace a recording by what is made of it.
/// Errors: `output` is one of the inputs.
support::Result<void> check_is_no_input(const std::string& output,
                                        const std::vector<std::string>& inputs);

}  // namespace gpuprof::commands
