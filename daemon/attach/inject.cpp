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
#include "daemon/messages/attach.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::attach {
namespace {

// Waits of microseconds are rounded up to this.
constexpr unsigned long kTimerSlackNs = 1'000;
constexpr std::size_t kMaxArgument = 3 << 10;
constexpr int kInjectNiceness = -19;
constexpr int kLooks = 50, kPrograms = 3;
constexpr std::chrono::milliseconds kBetweenTries{10};

/// A program that is just being started has half of its libraries, or half of one.
support::Result<ProcessImage> look_patiently(const InjectRequest& request,
                                             const LibraryFile& library, std::uint64_t until_ns) {
  for (int looks = 0;;) {
    const bool works = is_loader_busy(request.pid);
    auto target = read_process_image(request.pid, library);
    if (!works) ++looks;
    if (target || looks == kLooks) return target;
    if (works && base::mono_ns() >= until_ns) return loader_busy_error(request.pid);
    std::this_thread::sleep_for(kBetweenTries);
    GPUPROF_CHECK(may_attach(request.pid, request.ignore_seccomp, until_ns));
  }
}

support::Result<InjectResult> try_to_inject(const InjectRequest& request, std::uint64_t begun_ns) {
  if (request.argument.size() >= kMaxArgument || request.argument.find('\0') != std::string::npos)
    return support::error(messages::attach::kBadArgument);
  GPUPROF_TRY(library, read_library(request.library));
  const std::uint64_t until_ns = begun_ns + request.deadline_ns;
  for (int program = 1;; ++program) {
    GPUPROF_CHECK(may_attach(request.pid, request.ignore_seccomp, until_ns));
    GPUPROF_TRY(target, look_patiently(request, library, until_ns));
    InjectionAttempt attempt(request, library, target, begun_ns);
    std::optional<support::Result<InjectResult>> result;
    const auto in_a_hurry = [&] {
      prctl(PR_SET_TIMERSLACK, kTimerSlackNs, 0, 0, 0);
      // While it waits for a processor, a thread of the program stands still. Root only; else as it
      // is.
      setpriority(PRIO_PROCESS, 0, kInjectNiceness);
      result = attempt.run();
    };
    try {
      std::thread(in_a_hurry).join();
    } catch (const std::system_error&) {
      result = attempt.run();  // no thread to be had (ulimit -u)
    }
    if (attempt.is_another_program() && program != kPrograms) continue;
    // Whatever we met in it: there was a process whose program had gone.
    if (!*result && support::has_execed(request.pid, target.program))
      return support::error(fmt::format(messages::attach::kStartedAnotherProgram, request.pid));
    return *std::move(result);
  }
}

}  // namespace

support::Result<InjectResult> inject(const InjectRequest& request) {
  const std::uint64_t begun_ns = base::mono_ns();
  auto result = try_to_inject(request, begun_ns);
  if (result) {
    result.value().total_ns = base::mono_ns() - begun_ns;
    return result;
  }
  // Whatever was missing: it was so because the process was about to end.
  const ProcStatus status = stable_status(request.pid);
  if (!status.there || status.ending)
    return support::error(refusal_by_status(request.pid, status, {}, request.ignore_seccomp));
  return result;
}

}  // namespace gpuprof::attach
