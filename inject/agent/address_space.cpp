// SPDX-License-Identifier: Apache-2.0
//
// Whether a limited address space (RLIMIT_AS) has room for what recording maps.
//
// Context:  worker
// Owns:     nothing
// Promises: where there is no limit nothing is read
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "inject/agent/core.hpp"
#include "inject/hot/outbox.hpp"

namespace gpuprof::agent {

namespace {

// Beside the segment: blocks of threads, buffers for CUPTI, tables of the sampler. Addresses;
// hardly any of it is ever touched.
constexpr std::uint64_t kOtherBytes = 96ULL << 20;

// Addresses in use, by the first word of /proc/self/statm. 0: not to be read.
std::uint64_t used_bytes() {
  const base::UniqueFd file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[64] = {};
  if (!file || ::read(file.get(), text, sizeof text - 1) <= 0) return 0;
  return strtoull(text, nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

bool address_space_has_room(std::uint64_t segment_bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  const std::uint64_t used = used_bytes();
  const std::uint64_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
  const std::uint64_t ours = segment_bytes + kOtherBytes;
  if (left >= 2 * ours) return true;
  char text[320];
  snprintf(
      text, sizeof text,
      "The program's address space is limited (ulimit -v) and has %llu MiB left, of which "
      "recording would take %llu: it was left alone. A higher limit or a smaller --buffer-size "
      "gives more room.",
      static_cast<unsigned long long>(left >> 20), static_cast<unsigned long long>(ours >> 20));
  open_outbox();
  hot::notice(wire::Feature::kGeneral, wire::NoticeLevel::kMissing, 0, text);
  // Else our going would look like an exec.
  g_core.connection.send(
      wire::Bye{static_cast<std::uint32_t>(wire::ByeReason::kDisabled), 0, base::mono_ns()},
      nullptr, 0);
  return false;
}

}  // namespace gpuprof::agent
