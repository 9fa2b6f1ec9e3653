// SPDX-License-Identifier: Apache-2.0
//
// Why a process that was recorded goes on without the library: an exec took it away.
//
// Context:  daemon | cli
#include "support/process/library_lost.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "support/io/files.hpp"
#include "support/messages/process.hpp"
#include "support/process/program_probe.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::support {
namespace {

constexpr char kLibrary[] = "libgpuprof_inject.so";

}  // namespace

std::string library_lost_message(const std::string& recorded_exe, const std::string& exe,
                                 const std::string& not_preloadable,
                                 const std::string& environment) {
  if (exe.empty()) return "";
  const std::string preloads = environment_get(split(environment, '\0'), "LD_PRELOAD");
  const bool dropped = preloads.find(kLibrary) == std::string::npos;
  if (!dropped && not_preloadable.empty()) return "";
  const std::string why =
      not_preloadable.empty() ? messages::process::kPreloadRemoved : not_preloadable;
  return fmt::format(messages::process::kContinuedUnrecorded, in_quotes(recorded_exe),
                     in_quotes(exe), why);
}

std::string library_lost_reason(std::uint32_t pid, const std::string& recorded_exe) {
  const std::string folder = fmt::format("/proc/{}", pid);
  std::error_code failed;
  const std::string exe = std::filesystem::read_symlink(folder + "/exe", failed).string();
  if (failed) return "";
  return library_lost_message(recorded_exe, exe, preload_obstacle(probe_program(exe, "")),
                              read_small_file(folder + "/environ"));
}

}  // namespace gpuprof::support
