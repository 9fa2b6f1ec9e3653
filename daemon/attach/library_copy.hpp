// SPDX-License-Identifier: Apache-2.0
//
// Puts the library where a process can open it, whatever it sees of the file system.
//
// Context:  daemon | cli
// Owns:     the copy, if it is a file: it is gone with this object (mapped, it stays as long as it
//           is used); one in memory is the process's
// Promises: nothing is followed out of the process's own root
//
// In memory (memfd) needs no writable folder and no agreement about paths, but a /proc in which the
// process finds itself; without one, or where memfd_create is forbidden, it is a file.
#pragma once

#include <sys/types.h>

#include <string>

#include "daemon/attach/process/library_file.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/result.hpp"

namespace gpuprof::attach {

class LibraryCopy {
 public:
  LibraryCopy(pid_t pid, const LibraryFile& library) : pid_(pid), library_(library) {}
  ~LibraryCopy();
  LibraryCopy(const LibraryCopy&) = delete;
  LibraryCopy& operator=(const LibraryCopy&) = delete;

  /// Whether the process can open its own descriptors by path.
  bool can_be_in_memory() const;
  /// Fills the empty memfd that is the process's descriptor `file`. Returns the path it opens it
  /// by.
  support::Result<std::string> in_memory(std::int64_t file);
  /// Makes a file in a folder of the process's root. Returns the path as the process sees it.
  support::Result<std::string> in_a_file();

 private:
  bool make_in(int root, const char* folder);

  pid_t pid_;
  const LibraryFile& library_;
  base::UniqueFd folder_;  // the one our own folder is in
  std::string name_;       // of our own folder
};

}  // namespace gpuprof::attach
