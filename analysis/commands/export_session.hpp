// SPDX-License-Identifier: Apache-2.0
//
// Trace files from a session's spool folder, also one whose daemon died, or from other traces.
//
// Context:  cli
// Owns:     nothing
// Promises: the spool is only read; files appear whole or not at all
// Not here: the formats (analysis/export), the store (recording/spool)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/commands/recording_source.hpp"
#include "recording/session/summary.hpp"
#include "support/result.hpp"

namespace gpuprof::commands {

struct ExportRequest {
  std::string spool;              // folder with session.jsonl, or whatever open_recording() opens
  std::vector<std::string> also;  // more trace files of the same session
  std::string output;             // absolute folder or pattern; empty: as the session was asked
  bool output_is_pattern = false;
  bool force = false;
  std::vector<std::string> formats;  // empty: as the session was asked
};

/// How much of all files is done.
using ExportProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Writes the files of every window; windows and processes that the daemon had not finalised when
/// it died are finalised here, from the events.
///
/// Where a window fails after files of others were written, the summary holds those, is not
/// complete and says why in its failures.
///
/// @param reading Bytes of trace files, where those are what is exported.
support::Result<recording::Summary> export_session(const ExportRequest& request,
                                                   const ExportProgress& progress,
                                                   const SourceProgress& reading = {});

/// The spool folder of a session of the daemon `daemon_pid` in an output folder; "" if it is gone.
std::string spool_of(const std::string& folder, std::uint32_t daemon_pid, std::uint64_t session);

}  // namespace gpuprof::commands
