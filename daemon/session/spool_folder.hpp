// SPDX-License-Identifier: Apache-2.0
//
// The session's folder beside its output: OUTPUT/.gpuprof-spool-PID-NONCE/.
//
// Context:  daemon
// Owns:     the folder on disk, until remove() or keep()
// Promises: mode 0700; only remove() deletes, and only files of ours in this one folder
// Not here: what is in it (recording/spool)
#pragma once

#include <string>

#include "recording/session/session_options.hpp"
#include "support/result.hpp"

namespace gpuprof::session {

class SpoolFolder {
 public:
  /// Makes the output folder (for a pattern: the folder part before the first %) and ours in it.
  static support::Result<SpoolFolder> create(const recording::SessionOptions& options,
                                             const std::string& nonce);

  const std::string& path() const { return path_; }
  /// Where files will be: shown in the summary.
  const std::string& output() const { return output_; }
  /// Deletes the folder. False if something is left.
  bool remove() const;

 private:
  std::string path_, output_;
};

}  // namespace gpuprof::session
