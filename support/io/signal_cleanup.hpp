// SPDX-License-Identifier: Apache-2.0
//
// What must not stay behind when a signal ends the program: unfinished files, folders for a while.
//
// Context:  daemon | cli
// Owns:     the thread that waits for SIGINT, SIGTERM and SIGHUP, from tidy_when_ended() on
// Promises: who started the program sees it ended by that signal, as without this; a signal that
//           the program was started with ignored stays ignored
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gpuprof::support {

/// From now on those signals first remove what is to be removed. Call before other threads start.
void tidy_when_ended();

/// Runs `make` with such an end held off; what it returns (a path; "": nothing) is removed with all
/// that is in it should the end come before forget_tidying().
std::string tidy(const std::function<std::string()>& make);
/// The same of folders just made, outermost first, as far as they are empty.
void tidy_if_empty(const std::vector<std::string>& folders);

/// To be called when the path has its place or was removed. Does not return if the end has come.
void forget_tidying(const std::string& path);

}  // namespace gpuprof::support
