// SPDX-License-Identifier: Apache-2.0
//
// Removes unfinished files and temporary folders when a signal ends the program.
//
// Context:  daemon | cli
// Owns:     the thread that waits for SIGINT, SIGTERM and SIGHUP, from install_signal_cleanup() on
// Promises: who started the program sees it ended by that signal, as without this; a signal that
//           the program was started with ignored stays ignored
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gpuprof::support {

/// From now on those signals first remove what is to be removed. Call before other threads start.
void install_signal_cleanup();

/// Runs `make` with such an end held off; what it returns (a path; "": nothing) is removed with all
/// that is in it should the end come before cancel_cleanup().
std::string create_with_cleanup(const std::function<std::string()>& make);
/// The same of folders just made, outermost first, as far as they are empty.
void cleanup_if_empty(const std::vector<std::string>& folders);

/// To be called when the path has its place or was removed. Does not return if the end has come.
void cancel_cleanup(const std::string& path);

}  // namespace gpuprof::support
