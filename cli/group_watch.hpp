// SPDX-License-Identifier: Apache-2.0
//
// Tells a signal sent to our whole process group from one sent to us alone.
//
// Context:  cli
// Owns:     a helper process in our group (no child of ours or the program's) and a socket to it;
//           the helper ends when the socket closes
// Promises: the helper holds no descriptor of the program and never outlives us
// Not here: what is done with signals (program.hpp)
#pragma once

#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::cli {

/// kill(2) shows no difference between the two, but a second member of the group sees only the
/// first kind.
class GroupWatch {
 public:
  /// Without a helper (no process to be had) every signal counts as sent to us alone.
  GroupWatch();

  /// True if the group got `signal` too. Waits a moment for the helper's word.
  bool group_got(int signal);

 private:
  void listen();

  base::UniqueFd socket_;
  unsigned seen_[65] = {};
};

}  // namespace gpuprof::cli
