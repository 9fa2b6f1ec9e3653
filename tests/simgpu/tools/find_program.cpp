// SPDX-License-Identifier: Apache-2.0
//
// Looks words up on the PATH and reads first lines of scripts.
//
// Context:  tools
// Owns:     nothing
// Promises: see find_program.hpp
#include "tools/find_program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/ask.hpp"

namespace gpusim {
namespace {

constexpr int kMaxHops = 4;  // a shim of a script of an env

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_executable_file(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return false;
  if (!S_ISREG(s.st_mode)) {
    errno = EACCES;
    return false;
  }
  return access(path.c_str(), X_OK) == 0;
}

/// Programs whose arguments name the one that they start.
bool starts_another(const std::string& name) {
  for (const char* known : {"env", "timeout", "nice", "nohup", "setsid", "stdbuf", "taskset",
                            "time", "numactl", "ionice", "chrt", "gpuprof", "gpusim-run"})
    if (name == known) return true;
  return false;
}

/// python, python3, python3.11, python3.13t
bool is_python_name(const std::string& name) {
  if (name.compare(0, 6, "python") != 0) return false;
  std::size_t at = 6;
  while (at < name.size() &&
         (std::isdigit(static_cast<unsigned char>(name[at])) || name[at] == '.'))
    ++at;
  return at == name.size() || (name[at] == 't' && at + 1 == name.size());
}

std::string beginning_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(2048, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// The word between `before` and one of `ends`, after `from`.
std::string between(const std::string& text, const std::string& before, const char* ends) {
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size();
  return text.substr(begin, text.find_first_of(ends, begin) - begin);
}

/// #!/usr/bin/env -S NAME=value python3 -u
std::string interpreter_of_env(std::istringstream& words) {
  for (std::string word; words >> word;)
    if (word[0] != '-' && word.find('=') == std::string::npos) return word;
  return {};
}

/// pip writes this where a path is too long for a first line:  '''exec' /path/python "$0" "$@"
std::string interpreter_of_long_path(const std::string& text) {
  std::string path = between(text, "'''exec' ", " \n");
  if (!path.empty() && path[0] == '"') path = between(text, "'''exec' \"", "\"");
  return path;
}

std::string pyenv_answer(const std::string& text, const std::string& name) {
  const std::string pyenv = between(text, "exec \"", "\"");
  if (base_name(pyenv) != "pyenv") return {};
  std::string path = run_helper({pyenv, "which", name});
  while (!path.empty() && std::isspace(static_cast<unsigned char>(path.back()))) path.pop_back();
  return path;
}

std::string behind(const std::string& word, int hops) {
  const std::string path = find_program(word);
  if (path.empty() || hops == kMaxHops) return {};
  const std::string text = beginning_of(path);
  const bool script = text.compare(0, 2, "#!") == 0;
  const std::string shim = script ? pyenv_answer(text, base_name(path)) : std::string();
  if (!shim.empty()) return behind(shim, hops + 1);
  if (is_python_name(base_name(path))) return path;
  if (!script) return {};
  std::istringstream words(text.substr(2, text.find('\n') - 2));
  std::string interpreter;
  words >> interpreter;
  if (base_name(interpreter) == "env") interpreter = interpreter_of_env(words);
  if (base_name(interpreter) == "sh") interpreter = interpreter_of_long_path(text);
  if (!is_python_name(base_name(interpreter))) return {};
  return behind(interpreter, hops + 1);
}

}  // namespace

std::string find_program(const std::string& word) {
  errno = ENOENT;
  if (word.find('/') != std::string::npos) return is_executable_file(word) ? word : std::string();
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
  int problem = ENOENT;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + word;
    if (!word.empty() && is_executable_file(file)) return file;
    if (errno == EACCES) problem = EACCES;
  }
  errno = problem;
  return {};
}

std::string python_behind(const std::string& word) { return behind(word, 0); }

std::string python_of_command(char* const* command) {
  bool counts = true;  // the first word, and one that follows --
  for (int i = 0; command[i] != nullptr; ++i) {
    const std::string word = command[i];
    const bool plain = !word.empty() && word[0] != '-' && word.find('=') == std::string::npos;
    const bool on_path = plain && word.find('/') == std::string::npos;
    if (counts || on_path || (plain && is_python_name(base_name(word)))) {
      const std::string python = python_behind(word);
      if (!python.empty()) return python;
    }
    counts = word == "--";
  }
  return {};
}

std::vector<std::string> programs_of_command(char* const* command) {
  std::vector<std::string> words;
  bool wanted = true;  // a program's name is due
  for (int i = 0; command[i] != nullptr; ++i) {
    const std::string word = command[i];
    if (word == "--") {
      wanted = true;
      continue;
    }
    // Options and NAME=value of a wrapper, and values such as a time limit, start nothing.
    if (!wanted || word.empty() || word[0] == '-' || word.find('=') != std::string::npos) continue;
    if (i > 0 && find_program(word).empty()) continue;
    words.push_back(word);
    wanted = starts_another(base_name(word));
  }
  return words;
}

}  // namespace gpusim
