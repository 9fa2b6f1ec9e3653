// SPDX-License-Identifier: Apache-2.0
//
// Which file a word of a command line starts, and which Python stands behind it.
//
// Context:  tools
// Owns:     nothing
// Promises: starts nothing but `pyenv which`, for a shim of pyenv
// Not here: what that Python has installed (find_torch.hpp)
#pragma once

#include <string>
#include <vector>

namespace gpusim {

/// The file that `word` names as execvp would take it; empty, and errno says why, if there is none.
std::string find_program(const std::string& word);

/// The interpreter that runs `word`: a Python itself, or a script whose first line names one
/// (torchrun), also through a shim of pyenv. Empty: not a Python program.
std::string python_behind(const std::string& word);

/// The first Python program among the words of a command, so that it is found behind gpuprof, env,
/// timeout and the like. A later word counts if it follows `--`, names an interpreter, or is a
/// Python script on the PATH.
std::string python_of_command(char* const* command);

/// The words that start programs: the first, those that follow `--`, and those that env, timeout,
/// nice, gpuprof and the like start.
std::vector<std::string> programs_of_command(char* const* command);

}  // namespace gpusim
