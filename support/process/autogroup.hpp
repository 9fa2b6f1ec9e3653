// SPDX-License-Identifier: Apache-2.0
//
// The niceness of a whole session, where the kernel shares processors by session (autogroups).
//
// Context:  daemon (one thread)
// Owns:     nothing
// Promises: changes nothing but for a process that leads a session, and nothing where the kernel
//           does not share by session; needs no privilege
// Source:   sched(7), "The autogroup feature"
#pragma once

namespace gpuprof::support {

/// With autogroups (most distributions have them on; no cgroup with a processor share must be in
/// the way) a niceness tells threads of one session apart, and says nothing against those of
/// another: a session with one nice thread gets as much as one with two busy ones. What counts
/// among sessions is the niceness of the session.
class AutogroupNice {
 public:
  /// Makes it `niceness`, 0 to 19, for all threads of the calling process's session together. The
  /// kernel takes one change in 100 ms: where it refuses, the next call tries again.
  void set(int niceness);

 private:
  int is_ = 0;
};

}  // namespace gpuprof::support
