// SPDX-License-Identifier: Apache-2.0
//
// The private folder of one capture.
//
// Context:  serve
// Owns:     the folder and what is in it, until destroyed; a lock on it that shows that it is used
// Promises: mode 0700; its name comes from us alone
#pragma once

#include <string>

#include "gpuprof/base/unique_fd.hpp"
#include "support/result.hpp"

namespace gpuprof::serve {

class WorkFolder {
 public:
  /// Below TMPDIR or /tmp.
  static support::Result<WorkFolder> make();
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();

  const std::string& path() const { return path_; }
  /// For the command that writes there: as long as it lives the folder counts as used.
  int lock() const { return lock_.get(); }

  /// Removes the folders of this user that nobody uses any more: of a helper that was killed.
  static void remove_stale();

 private:
  WorkFolder(std::string path, base::UniqueFd lock);
  std::string path_;
  base::UniqueFd lock_;
};

}  // namespace gpuprof::serve
