// SPDX-License-Identifier: Apache-2.0
//
// The doctor's look at the driver, at CUPTI and at who uses it.
//
// Context:  cli
#include <dirent.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/doctor/checks.hpp"
#include "cli/messages/doctor_gpu.hpp"
#include "cli/target/installation.hpp"
#include "support/io/files.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

constexpr std::uint64_t kTimeoutNs = 5'000'000'000;

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  return paths;
}

/// Opens a library and calls `name`, a function that stores a version; prints version and path.
/// In a child: a broken driver may crash or hang. A blank behind the version: it is simulated. A
/// reason why there is none begins with '!'.
std::string version_in_child(const std::string& library, const char* name) {
  auto answer = support::run_in_fork(
      [&](int out) {
        void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
          dprintf(out, "!%s", dlerror());
          return;
        }
        void* symbol = dlsym(handle, name);
        unsigned version = 0;
        // Both kinds return 0 for success and store an unsigned number.
        const auto ask = reinterpret_cast<int (*)(unsigned*)>(symbol);
        if (symbol == nullptr || ask(&version) != 0) {
          dprintf(out, "?");
          return;
        }
        // Every library of the simulated GPU has this mark.
        const bool simulated = dlsym(handle, "gpuprof_simulated_gpu") != nullptr;
        dprintf(out, simulated ? "%u " : "%u", version);
      },
      kTimeoutNs);
  if (!answer) return "!" + answer.error().message;
  if (answer.value().timed_out)
    return "!" + fmt::format(messages::doctor_gpu::kVersionTimeout, library);
  if (answer.value().out.empty())
    return "!" + fmt::format(messages::doctor_gpu::kVersionCrash, library);
  if (answer.value().out == "?")
    return "!" + fmt::format(messages::doctor_gpu::kNoVersionFunction, name, library);
  return answer.value().out;
}

bool is_simulated(const std::string& version) { return version.back() == ' '; }

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
  return real == nullptr ? path : real.get();
}

bool is_empty_file(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && about.st_size == 0;
}

std::vector<std::string> cupti_candidates(const std::vector<std::string>& environment) {
  std::vector<std::string> patterns;
  for (const std::string& folder :
       support::split(support::environment_get(environment, "LD_LIBRARY_PATH"), ':')) {
    if (!folder.empty()) patterns.push_back(folder + "/libcupti.so*");
  }
  for (const char* folder :
       {"/usr/local/cuda*/extras/CUPTI/lib64", "/usr/local/cuda*/lib64", "/usr/local/cuda*/lib",
        "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/python3/dist-packages/nvidia/*/lib",
        "/usr/local/lib/python3*/*-packages/nvidia/*/lib"}) {
    patterns.push_back(std::string(folder) + "/libcupti.so*");
  }
  const std::string venv = support::environment_get(environment, "VIRTUAL_ENV");
  const std::string conda = support::environment_get(environment, "CONDA_PREFIX");
  for (const std::string& prefix : {venv, conda}) {
    if (prefix.empty()) continue;
    patterns.push_back(prefix + "/lib/libcupti.so*");
    patterns.push_back(prefix + "/lib/python3*/site-packages/nvidia/*/lib/libcupti.so*");
  }
  std::vector<std::string> paths;
  std::set<std::string> seen;
  for (const std::string& pattern : patterns) {
    for (const std::string& path : matches(pattern)) {
      if (seen.insert(real_path(path)).second) paths.push_back(real_path(path));
    }
  }
  return paths;
}

}  // namespace

void check_driver(CheckResults& out) {
  const std::vector<std::string> devices = matches("/dev/nvidia[0-9]*");
  const std::string version = version_in_child("libcuda.so.1", "cuDriverGetVersion");
  if (version[0] == '!') {
    out.push_back({CheckStatus::kMissing, "driver",
                   fmt::format(messages::doctor_gpu::kNoDriver, version.substr(1))});
    return;
  }
  const unsigned number = static_cast<unsigned>(std::strtoul(version.c_str(), nullptr, 10));
  const unsigned major = number / 1000, minor = number % 1000 / 10;
  if (is_simulated(version)) {
    out.push_back({CheckStatus::kGood, "driver",
                   fmt::format(messages::doctor_gpu::kSimulated, major, minor)});
    return;
  }
  if (devices.empty()) {
    out.push_back({CheckStatus::kLimited, "driver",
                   fmt::format(messages::doctor_gpu::kNoDevice, major, minor)});
    return;
  }
  out.push_back(
      {CheckStatus::kGood, "driver",
       fmt::format(messages::doctor_gpu::kDriver, major, minor,
                   support::count_with_unit(devices.size(), "device file", "device files"))});
}

void check_cupti(const std::vector<std::string>& environment, CheckResults& out) {
  std::vector<std::string> paths = cupti_candidates(environment);
  // Beside a simulated driver empty files keep real libraries of CUPTI away, on purpose.
  if (is_simulated(version_in_child("libcuda.so.1", "cuDriverGetVersion")))
    std::erase_if(paths, is_empty_file);
  if (paths.empty()) {
    out.push_back({CheckStatus::kMissing, "CUPTI", messages::doctor_gpu::kNoCupti});
    return;
  }
  for (const std::string& path : paths) {
    const std::string version = version_in_child(path, "cuptiGetVersion");
    if (version[0] == '!') {
      out.push_back({CheckStatus::kLimited, "CUPTI",
                     fmt::format(messages::doctor_gpu::kCuptiUnusable, path, version.substr(1))});
      continue;
    }
    const int number = std::atoi(version.c_str());
    out.push_back({CheckStatus::kGood, "CUPTI",
                   is_simulated(version)
                       ? fmt::format(messages::doctor_gpu::kCuptiSimulated, path, number)
                       : fmt::format(messages::doctor_gpu::kCuptiVersion, path, number)});
  }
}

void check_process(std::uint32_t pid, CheckResults& out) {
  const std::string maps = support::read_small_file(fmt::format("/proc/{}/maps", pid));
  const std::string topic = fmt::format("process {}", pid);
  if (maps.empty()) {
    const bool there = access(fmt::format("/proc/{}", pid).c_str(), F_OK) == 0;
    out.push_back(
        {CheckStatus::kLimited, topic,
         there ? messages::doctor_gpu::kProcessUnreadable : messages::doctor_gpu::kProcessGone});
    return;
  }
  const auto mapped = [&](const char* name) { return maps.find(name) != std::string::npos; };
  if (mapped(kLibraryName))
    out.push_back({CheckStatus::kGood, topic, messages::doctor_gpu::kLibraryLoaded});
  std::vector<std::string> users;
  if (mapped("libToolsInjection")) users.emplace_back("Nsight Systems");
  if (mapped("libkineto") || mapped("libtorch_cpu")) users.emplace_back("PyTorch's profiler");
  if (mapped("libtensorflow")) users.emplace_back("TensorFlow's profiler");
  if (!mapped("libcupti")) {
    out.push_back({CheckStatus::kGood, topic, messages::doctor_gpu::kSlotFree});
    return;
  }
  out.push_back({CheckStatus::kLimited, topic,
                 users.empty() ? std::string(messages::doctor_gpu::kSlotUnknown)
                               : fmt::format(messages::doctor_gpu::kSlotMayBeTaken,
                                             support::join_with_and(users))});
}

}  // namespace gpuprof::cli
