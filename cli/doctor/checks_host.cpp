// SPDX-License-Identifier: Apache-2.0
//
// The doctor's look at gpuprof's own files, at the kernel's limits and at the place for traces.
//
// Context:  cli
#include <errno.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/doctor/checks.hpp"
#include "cli/messages/doctor.hpp"
#include "cli/options/version.hpp"
#include "cli/output/output_location.hpp"
#include "cli/target/installation.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/io/files.hpp"
#include "support/process/program_probe.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::read_small_file;

constexpr std::uint64_t kToolTimeoutNs = 5'000'000'000;
constexpr double kDefaultRateHz = 100;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// 0, or the errno of a per-thread task-clock event as the sampler opens it.
int probe_perf() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = 10'000'000;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const base::UniqueFd fd(
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  return fd ? 0 : errno;
}

/// Ticks a second: the coarse clocks advance once a tick.
double tick_hz() {
  timespec tick{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_nsec == 0) return 0;
  return 1e9 / static_cast<double>(tick.tv_nsec);
}

void check_version(const Installation& found, CheckResults& out) {
  auto answer = support::run_captured({found.daemon, "--version"}, support::current_environment(),
                                      kToolTimeoutNs);
  const std::string reported = answer ? first_line(answer.value().out) : answer.error().message;
  if (reported.find(kVersion) == std::string::npos) {
    out.push_back({CheckStatus::kBlocking, "daemon",
                   fmt::format(messages::doctor::kDaemonVersion, found.daemon, kVersion,
                               support::in_quotes(reported))});
    return;
  }
  out.push_back({CheckStatus::kGood, "daemon", fmt::format("{} {}", found.daemon, kVersion)});
}

std::string status_field(const char* name) {
  const std::string status = read_small_file("/proc/self/status");
  const std::size_t at = status.find(std::string("\n") + name + ":");
  if (at == std::string::npos) return "";
  const std::string line = first_line(status.substr(at + 1));
  const std::size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
  return value == std::string::npos ? "" : line.substr(value);
}

}  // namespace

double effective_timer_rate_hz(double rate_hz, double tick_hz) {
  if (rate_hz <= 0 || tick_hz <= 0) return rate_hz;
  // A CPU timer fires at the first tick after its period.
  return tick_hz / std::max(1.0, std::ceil(tick_hz / rate_hz - 1e-9));
}

void check_installation(CheckResults& out) {
  auto found = find_installation(support::executable_path(), "");
  if (!found) {
    out.push_back({CheckStatus::kBlocking, "files", found.error().message});
    return;
  }
  check_version(found.value(), out);
  out.push_back({CheckStatus::kGood, "library", found.value().library});
  if (const std::string closed = support::inaccessible_parent(found.value().library);
      geteuid() == 0 && !closed.empty()) {
    out.push_back(
        {CheckStatus::kLimited, "library", fmt::format(messages::doctor::kFolderClosed, closed)});
  }
  if (!found.value().has_32bit_stub) {
    out.push_back({CheckStatus::kLimited, "32-bit", messages::doctor::kNo32BitStub});
  }
}

// Whoever has a second thread may not change its SELinux context, whatever the policy says of it.
void check_second_thread(CheckResults& out, const std::string& selinux) {
  const bool enforced = first_line(read_small_file(selinux + "/enforce")) == "1";
  out.push_back(
      {enforced ? CheckStatus::kLimited : CheckStatus::kGood, "worker thread",
       enforced ? messages::doctor::kWorkerThreadSelinux : messages::doctor::kWorkerThread});
}

void check_glibc(CheckResults& out) {
  const auto found = find_installation(support::executable_path(), "");
  if (!found) return;
  const std::string needed = support::required_glibc_version(found.value().library);
  const std::string here = gnu_get_libc_version();
  std::pair<int, int> need{0, 0}, have{0, 0};
  sscanf(needed.c_str(), "%d.%d", &need.first, &need.second);
  sscanf(here.c_str(), "%d.%d", &have.first, &have.second);
  if (have < need) {
    out.push_back({CheckStatus::kBlocking, "glibc",
                   fmt::format(messages::doctor::kGlibcTooOld, here, needed)});
    return;
  }
  out.push_back({CheckStatus::kGood, "glibc",
                 needed.empty() ? fmt::format(messages::doctor::kGlibcAny, here)
                                : fmt::format(messages::doctor::kGlibcGood, here, needed)});
}

void check_shared_memory(CheckResults& out) {
  const base::UniqueFd fd(memfd_create("gpuprof-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ftruncate(fd.get(), 1 << 20) != 0) {
    out.push_back({CheckStatus::kBlocking, "memfd",
                   fmt::format(messages::doctor::kNoSharedMemory, strerror(errno))});
    return;
  }
  out.push_back({CheckStatus::kGood, "memfd", messages::doctor::kSharedMemory});
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) == 0) {
    out.push_back({CheckStatus::kGood, "/dev/shm",
                   fmt::format(messages::doctor::kShmFree,
                               support::human_bytes(shm.f_bavail * shm.f_frsize))});
  }
}

void check_sampling(CheckResults& out) {
  const std::string paranoid = first_line(read_small_file("/proc/sys/kernel/perf_event_paranoid"));
  const std::string level = paranoid.empty()
                                ? std::string(messages::doctor::kNoPerfEvents)
                                : fmt::format(messages::doctor::kPerfParanoid, paranoid);
  const int failure = probe_perf();
  const double hz = tick_hz();
  if (failure == 0) {
    out.push_back(
        {CheckStatus::kGood, "sampling", fmt::format(messages::doctor::kPerfWorks, level)});
  } else {
    out.push_back({CheckStatus::kLimited, "sampling",
                   fmt::format(messages::doctor::kPerfFails, level, strerror(failure))});
  }
  out.push_back({CheckStatus::kGood, "CPU timers",
                 fmt::format(messages::doctor::kCpuTimers, hz,
                             effective_timer_rate_hz(kDefaultRateHz, hz), kDefaultRateHz)});
}

void check_ptrace(CheckResults& out) {
  const std::string scope = first_line(read_small_file("/proc/sys/kernel/yama/ptrace_scope"));
  const unsigned long long capabilities =
      std::strtoull(status_field("CapEff").c_str(), nullptr, 16);
  constexpr int kSysPtrace = 19;
  const bool capable = (capabilities >> kSysPtrace & 1) != 0;
  const bool limited = !scope.empty() && scope != "0" && !capable;
  const std::string yama = scope.empty() ? std::string(messages::doctor::kNoYama)
                                         : fmt::format(messages::doctor::kYama, scope);
  out.push_back({limited ? CheckStatus::kLimited : CheckStatus::kGood, "ptrace",
                 capable ? fmt::format(messages::doctor::kPtraceHeld, yama)
                         : fmt::format(messages::doctor::kPtraceNotHeld, yama)});
  if (has_seccomp_filter())
    out.push_back({CheckStatus::kLimited, "seccomp", messages::doctor::kSeccompFilter});
}

bool has_seccomp_filter() {
  const std::string seccomp = status_field("Seccomp");
  return !seccomp.empty() && seccomp != "0";
}

void check_preloads(const std::vector<std::string>& environment, CheckResults& out) {
  const std::string preload = support::environment_get(environment, "LD_PRELOAD");
  if (!preload.empty()) {
    out.push_back(
        {CheckStatus::kGood, "LD_PRELOAD", fmt::format(messages::doctor::kPreloadKept, preload)});
  }
  const std::string file = first_line(read_small_file("/etc/ld.so.preload"));
  if (!file.empty()) {
    out.push_back({CheckStatus::kGood, "ld.so.preload",
                   fmt::format(messages::doctor::kPreloadedEverywhere, file)});
  }
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    const std::string path = support::environment_get(environment, name);
    if (path.empty() || support::base_name(path) == kLibraryName) continue;
    out.push_back(
        {CheckStatus::kLimited, name, fmt::format(messages::doctor::kForeignInjection, path)});
  }
}

void check_output(CheckResults& out) {
  const std::string folder = support::current_folder();
  struct statvfs disk {};
  if (auto writable = support::check_writable(folder); !writable) {
    out.push_back({CheckStatus::kLimited, "output", writable.error().message});
  } else if (statvfs(folder.c_str(), &disk) == 0) {
    out.push_back({CheckStatus::kGood, "output",
                   fmt::format(messages::doctor::kOutputFolder, folder,
                               support::human_bytes(disk.f_bavail * disk.f_frsize))});
  }
}

}  // namespace gpuprof::cli
