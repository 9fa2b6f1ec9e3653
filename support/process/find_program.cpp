// SPDX-License-Identifier: Apache-2.0
//
// find_program().
//
// Context:  daemon | cli
#include "support/process/find_program.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "support/io/files.hpp"
#include "support/messages/process.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::support {
namespace {

Result<std::string> check_program(const std::string& path) {
  if (is_folder(path)) {
    return error(fmt::format(messages::process::kRunsFolder, in_quotes(path)), 126);
  }
  // access() answers for the real user, exec for the effective one.
  if (faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) return exec_error(path, errno);
  return path;
}

}  // namespace

Result<std::string> find_program(const std::string& word, const std::string& path_variable) {
  if (word.empty()) return error(messages::process::kRunsEmptyName, 127);
  if (word.find('/') != std::string::npos) return check_program(word);
  std::string not_executable;
  for (const std::string& folder : split(path_variable, ':')) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + word;
    if (!file_exists(path) || is_folder(path)) continue;
    if (check_program(path)) return path;
    if (not_executable.empty()) not_executable = path;
  }
  if (!not_executable.empty()) return exec_error(not_executable, EACCES);
  return error(fmt::format(messages::process::kNotInPath, in_quotes(word)), 127);
}

}  // namespace gpuprof::support
