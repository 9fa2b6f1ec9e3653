// SPDX-License-Identifier: Apache-2.0
//
// Starts other programs and says exactly why one could not be started.
//
// Context:  daemon | cli (not from a second thread: the child runs code between fork and exec)
// Owns:     nothing once a call has returned; the caller waits for the pid it gets
// Promises: an exec that fails is an Error with exit status 127 (not there) or 126 (not
//           executable), never a child that looks as if it had run
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::support {

/// How to start a program.
struct LaunchOptions {
  std::string path;                    // file to execute, with a slash
  std::vector<std::string> arguments;  // argv, argv[0] included
  std::vector<std::string> environment;
  /// Descriptor in the child ← descriptor of ours; others are kept unless close-on-exec.
  std::vector<std::pair<int, int>> descriptors;
  /// Runs in the child before exec; may change `environment` and block. Must not return on error
  /// (use _exit).
  std::function<void(LaunchOptions&)> pre_exec;
  /// Runs in the parent after fork, before the answer of exec is awaited.
  std::function<void(pid_t)> post_fork;
};

/// Forks and executes; returns the pid once exec has worked.
Result<pid_t> launch_process(LaunchOptions launch);

/// Waits at most `timeout_ns` for a child to end and collects it, so that no zombie stays where
/// nobody else would. False: it still runs.
bool reap_child(pid_t pid, std::uint64_t timeout_ns);

/// The sentence for an exec that failed with `failure` (errno), with exit status 126 or 127.
Error exec_error(const std::string& path, int failure);

/// What a short helper printed.
struct CapturedOutput {
  int wait_status = 0;
  bool timed_out = false;  // it was killed
  std::string out;         // stdout, at most 1 MiB; stderr goes to /dev/null
};

/// Runs a helper with stdin and stderr on /dev/null, and kills it after `timeout_ns`.
Result<CapturedOutput> run_captured(const std::vector<std::string>& arguments,
                                    const std::vector<std::string>& environment,
                                    std::uint64_t timeout_ns);

/// The same for code of ours: `work` runs in a forked child with a descriptor to write to, so
/// that whatever it loads cannot hurt us.
Result<CapturedOutput> run_in_fork(const std::function<void(int out)>& work,
                                   std::uint64_t timeout_ns);

/// The environment as `NAME=value` words, and one name's value in such a list.
std::vector<std::string> current_environment();
std::string environment_get(const std::vector<std::string>& words, const std::string& name);
bool environment_has(const std::vector<std::string>& words, const std::string& name);
void environment_set(std::vector<std::string>& words, const std::string& name,
                     const std::string& value);
void environment_remove(std::vector<std::string>& words, const std::string& name);

}  // namespace gpuprof::support
