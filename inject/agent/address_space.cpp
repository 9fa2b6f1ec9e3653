// SPDX-License-Identifier: Apache-2.0
//
// Whether limits on addresses (RLIMIT_AS) and on data (RLIMIT_DATA) leave room for what recording
// maps.
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
#include "inject/messages/agent.hpp"

namespace gpuprof::agent {

namespace {

// Blocks of threads, stacks of the handler, tables of the sampler: hardly any of it is ever
// touched, but both limits count it.
constexpr std::uint64_t kDataBytes = 80ULL << 20;
// Beside that and the segment: addresses for our own code and other buffers. Those for CUPTI are
// not in it: the driver reserves more addresses than any such limit leaves.
constexpr std::uint64_t kOtherBytes = 20ULL << 20;

struct Limit {
  decltype(RLIMIT_AS) which;
  int word;  // of /proc/self/statm: pages that count already
  std::uint64_t ours_bytes;
};

// 0: not to be read.
std::uint64_t used_bytes(int word) {
  const base::UniqueFd file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[128] = {};
  if (!file || ::read(file.get(), text, sizeof text - 1) <= 0) return 0;
  char* at = text;
  std::uint64_t pages = 0;
  for (int i = 0; i <= word; ++i) pages = strtoull(at, &at, 10);
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void refuse_recording(const Limit& limit, std::uint64_t left_bytes) {
  char text[320];
  const auto left_mib = static_cast<unsigned long long>(left_bytes >> 20);
  const auto ours_mib = static_cast<unsigned long long>(limit.ours_bytes >> 20);
  if (limit.which == RLIMIT_AS)
    snprintf(text, sizeof text, messages::agent::kLittleAddressSpace, ours_mib, left_mib);
  else
    snprintf(text, sizeof text, messages::agent::kLittleDataMemory, ours_mib, left_mib);
  install_outbox();
  hot::send_notice(wire::Feature::kGeneral, wire::NoticeLevel::kMissing, 0, text);
  g_agent.send_queue.drain(g_agent.connection, kFinalSendMs);
  // Else our going would look like an exec.
  g_agent.connection.send(
      wire::Bye{static_cast<std::uint32_t>(wire::ByeReason::kDisabled), 0, base::mono_ns()},
      nullptr, 0);
}

}  // namespace

bool memory_limits_allow(std::uint64_t segment_bytes) {
  const Limit limits[] = {
      {RLIMIT_AS, 0, segment_bytes + kDataBytes + kOtherBytes},
      {RLIMIT_DATA, 5, kDataBytes},
  };
  for (const Limit& limit : limits) {
    rlimit now{};
    if (getrlimit(limit.which, &now) != 0 || now.rlim_cur == RLIM_INFINITY) continue;
    const std::uint64_t used = used_bytes(limit.word);
    const std::uint64_t left = now.rlim_cur > used ? now.rlim_cur - used : 0;
    if (left >= 2 * limit.ours_bytes) continue;
    refuse_recording(limit, left);
    return false;
  }
  return true;
}

}  // namespace gpuprof::agent
