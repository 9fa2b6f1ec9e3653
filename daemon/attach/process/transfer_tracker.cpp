// SPDX-License-Identifier: Apache-2.0
//
// From what is seen of a thread to whether it may be stopped.
//
// Context:  the tracing thread
#include "daemon/attach/process/transfer_tracker.hpp"

#include "gpuprof/base/clock.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::uint64_t kOutNs = 5'000'000;  // a pipe that is read is filled in far less

}  // namespace

bool TransferTracker::in_transfer(const ThreadCandidate& thread) {
  if (thread.in_transfer) {
    ran_ns_[thread.tid] = ran_ns(thread.tid);
    return true;
  }
  const auto seen = ran_ns_.find(thread.tid);
  if (seen == ran_ns_.end()) return false;
  const bool sleeps = thread.stack_pointer != 0;
  if (!sleeps && ran_ns(thread.tid) < seen->second + kOutNs) return true;
  ran_ns_.erase(seen);
  return false;
}

/// By the clock on the wall where the kernel does not count.
std::uint64_t TransferTracker::ran_ns(pid_t tid) const {
  return support::thread_runtime_ns(pid_, tid).value_or(base::mono_ns());
}

}  // namespace gpuprof::attach
