// SPDX-License-Identifier: Apache-2.0
//
// Loads libgpuprof_inject.so into a running process and calls its gpuprof_attach.
//
// Context:  daemon | cli
#include "daemon/attach/inject.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

#include "daemon/attach/attempt.hpp"
#include "daemon/attach/process/checks.hpp"
#include "daemon/attach/process/loader.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::attach {
namespace {

// Waits of microseconds are rounded up to this.
constexpr unsigned long kTimerSlackNs = 1'000;
constexpr std::size_t kMostArgument = 3 << 10;
constexpr int kHurry = -19;
constexpr int kLooks = 50, kPrograms = 3;
constexpr std::chrono::milliseconds kBetweenTries{10};

/// A program that is just being started has half of its libraries, or half of one.
support::Result<Target> look_patiently(const Request& request, const LibraryFile& library,
                                       std::uint64_t until_ns) {
  for (int looks = 0;;) {
    const bool works = loader_works(request.pid);
    auto target = look_at(request.pid, library);
    if (!works) ++looks;
    if (target || looks == kLooks) return target;
    if (works && base::mono_ns() >= until_ns) return why_loader_works(request.pid);
    std::this_thread::sleep_for(kBetweenTries);
    GPUPROF_CHECK(may_attach(request.pid, request.ignore_seccomp, until_ns));
  }
}

support::Result<Injected> try_to_inject(const Request& request, std::uint64_t begun_ns) {
  if (request.argument.size() >= kMostArgument || request.argument.find('\0') != std::string::npos)
    return support::error("the text for the library is too long or holds a NUL byte");
  GPUPROF_TRY(library, read_library(request.library));
  const std::uint64_t until_ns = begun_ns + request.deadline_ns;
  for (int program = 1;; ++program) {
    GPUPROF_CHECK(may_attach(request.pid, request.ignore_seccomp, until_ns));
    GPUPROF_TRY(target, look_patiently(request, library, until_ns));
    Attempt attempt(request, library, target, begun_ns);
    std::optional<support::Result<Injected>> result;
    const auto in_a_hurry = [&] {
      prctl(PR_SET_TIMERSLACK, kTimerSlackNs, 0, 0, 0);
      // While it waits for a processor, a thread of the program stands still. Root only; else as it
      // is.
      setpriority(PRIO_PROCESS, 0, kHurry);
      result = attempt.run();
    };
    try {
      std::thread(in_a_hurry).join();
    } catch (const std::system_error&) {
      result = attempt.run();  // no thread to be had (ulimit -u)
    }
    if (attempt.is_another_program() && program != kPrograms) continue;
    // Whatever we met in it: there was a process whose program had gone.
    if (!*result && support::started_another_program(request.pid, target.program))
      return support::error(fmt::format(
          "process {} started another program (exec) while it was attached to, and a library does "
          "not outlive that: attach again",
          request.pid));
    return *std::move(result);
  }
}

}  // namespace

support::Result<Injected> inject(const Request& request) {
  const std::uint64_t begun_ns = base::mono_ns();
  auto result = try_to_inject(request, begun_ns);
  if (result) {
    result.value().total_ns = base::mono_ns() - begun_ns;
    return result;
  }
  // Whatever was missing: it was so because the process was about to end.
  const ProcessStatus status = settled_status(request.pid);
  if (!status.there || status.ending)
    return support::error(why_not_by_status(request.pid, status, {}, request.ignore_seccomp));
  return result;
}

}  // namespace gpuprof::attach
