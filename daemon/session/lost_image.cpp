// SPDX-License-Identifier: Apache-2.0
//
// Why a process that was recorded goes on without our library: an exec took it away.
//
// Context:  daemon
#include "daemon/session/lost_image.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "support/child.hpp"
#include "support/elf_probe.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace gpuprof::session {
namespace {

constexpr char kLibrary[] = "libgpuprof_inject.so";

}  // namespace

std::string lost_image_sentence(const std::string& recorded_exe, const std::string& exe,
                                const std::string& not_preloadable,
                                const std::string& environment) {
  // Both are empty in the moment of the exec itself, and for a process of another user.
  if (exe.empty() || environment.empty()) return "";
  const std::string preloads =
      support::environment_get(support::split(environment, '\0'), "LD_PRELOAD");
  const bool dropped = preloads.find(kLibrary) == std::string::npos;
  if (!dropped && not_preloadable.empty()) return "";
  const std::string why =
      not_preloadable.empty()
          ? "its environment was cleared of LD_PRELOAD (as env -i, sudo and some launchers do)"
          : not_preloadable;
  return fmt::format("{} went on as {}, which is not recorded: {}",
                     support::in_quotes(recorded_exe), support::in_quotes(exe), why);
}

std::string why_image_is_lost(std::uint32_t pid, const std::string& recorded_exe) {
  const std::string folder = fmt::format("/proc/{}", pid);
  std::error_code failed;
  const std::string exe = std::filesystem::read_symlink(folder + "/exe", failed).string();
  if (failed) return "";
  return lost_image_sentence(recorded_exe, exe,
                             support::why_not_preloadable(support::probe_program(exe, "")),
                             support::read_small_file(folder + "/environ"));
}

}  // namespace gpuprof::session
