// SPDX-License-Identifier: Apache-2.0
//
// The doctor's look at Python interpreters.
//
// Context:  cli
#include <dirent.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/checks.hpp"
#include "cli/messages/doctor.hpp"
#include "support/io/files.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

constexpr std::uint64_t kInterpreterTimeoutNs = 5'000'000'000;
constexpr std::size_t kMaxInterpreters = 12;
constexpr int kOldestRead = 8, kNewestRead = 14;  // minors of 3.x with a table in inject/python
constexpr char kAsk[] =
    "import "
    "os,sys,sysconfig;print(os.path.realpath(sys.executable));print('%d.%d.%d'%sys.version_info[:3]"
    ");"
    "print(sysconfig.get_config_var('Py_GIL_DISABLED') or 0)";

/// python, python3, python3.11, but not python3-config.
bool is_interpreter_name(std::string_view name) {
  if (name.substr(0, 6) != "python") return false;
  return name.substr(6).find_first_not_of("0123456789.") == std::string_view::npos;
}

std::vector<std::string> interpreters(const std::vector<std::string>& environment) {
  std::vector<std::string> paths;
  std::set<std::string> seen;
  for (const std::string& folder :
       support::split(support::environment_get(environment, "PATH"), ':')) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
    std::vector<std::string> names;
    while (open != nullptr) {
      const dirent* entry = readdir(open.get());
      if (entry == nullptr) break;
      if (is_interpreter_name(entry->d_name)) names.emplace_back(entry->d_name);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const std::string path = folder + "/" + name;
      const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
      if (real != nullptr && seen.insert(real.get()).second) paths.push_back(path);
    }
  }
  return paths;
}

}  // namespace

bool is_python_supported(std::string_view version) {
  int major = 0, minor = 0;
  const std::string text(version);
  return sscanf(text.c_str(), "%d.%d", &major, &minor) == 2 && major == 3 && minor >= kOldestRead &&
         minor <= kNewestRead;
}

void check_python(const std::vector<std::string>& environment, CheckResults& out) {
  std::set<std::string> seen;
  for (const std::string& path : interpreters(environment)) {
    if (seen.size() >= kMaxInterpreters) break;
    auto answer = support::run_captured({path, "-c", kAsk}, environment, kInterpreterTimeoutNs);
    if (!answer || answer.value().wait_status != 0) continue;
    const std::vector<std::string> lines = support::split(answer.value().out, '\n');
    if (lines.size() < 3 || !seen.insert(lines[0]).second) continue;
    if (lines[2] != "0") {
      out.push_back({CheckStatus::kLimited, "Python",
                     fmt::format(messages::doctor::kPythonFreeThreaded, lines[0], lines[1])});
      continue;
    }
    const bool read = is_python_supported(lines[1]);
    out.push_back({read ? CheckStatus::kGood : CheckStatus::kLimited, "Python",
                   read ? lines[0] + " " + lines[1]
                        : fmt::format(messages::doctor::kPythonNotRead, lines[0], lines[1])});
  }
  if (seen.empty()) out.push_back({CheckStatus::kGood, "Python", messages::doctor::kNoPython});
}

}  // namespace gpuprof::cli
