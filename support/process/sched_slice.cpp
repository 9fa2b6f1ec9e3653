// SPDX-License-Identifier: Apache-2.0
//
// sched_setattr(2): the runtime of a SCHED_OTHER thread is its slice.
//
// Context:  daemon
// Source:   Linux, include/uapi/linux/sched/types.h (size of version 0: 48 bytes)
#include "support/process/sched_slice.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuprof::support {

namespace {

// glibc has one since 2.41 only.
struct Attributes {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime_ns, deadline_ns, period_ns;
};
static_assert(sizeof(Attributes) == 48);
constexpr std::uint64_t kResetOnFork = 1;

}  // namespace

bool set_sched_slice(std::uint64_t slice_ns) {
  Attributes now{};
  if (::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0 || now.policy != SCHED_OTHER)
    return false;
  now.size = sizeof now;
  now.flags = kResetOnFork;
  now.runtime_ns = slice_ns;
  return ::syscall(SYS_sched_setattr, 0, &now, 0) == 0;
}

}  // namespace gpuprof::support
