// SPDX-License-Identifier: Apache-2.0
//
// From counters in shared memory to the cost of threads.
//
// Context:  daemon (ingest thread)
#include "daemon/session/target/overhead_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "daemon/ingest/decode/limits.hpp"
#include "daemon/messages/session_target.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::session {
namespace {

constexpr std::uint64_t kPeriodNs = 100'000'000;

}  // namespace

std::string percent_text(std::uint64_t ppm) {
  char text[32];
  const int digits = ppm < 10'000 ? 3 : ppm < 100'000 ? 2 : 1;
  std::snprintf(text, sizeof text, "%.*f", digits, static_cast<double>(ppm) / 10'000);
  std::string percent = text;
  percent.erase(percent.find_last_not_of('0') + 1);
  if (percent.back() == '.') percent.pop_back();
  return percent + " %";
}

OverheadMonitor::OverheadMonitor(std::uint64_t limit_ppm, std::vector<Reduction> reductions,
                                 std::uint32_t pid)
    : limit_ppm_(limit_ppm), pid_(pid), governor_(limit_ppm, std::move(reductions)) {}

// A ring buffer's counter goes on with the next thread that has the ring buffer: only what was
// added counts.
ThreadCosts OverheadMonitor::since_last_check(const ingest::SharedSegment& segment) {
  ThreadCosts costs;
  last_.resize(segment.ring_count());
  for (std::uint32_t ring = 0; ring < segment.ring_count(); ++ring) {
    const wire::RingEntry& entry = segment.entry(ring);
    const bool free = entry.state.load(std::memory_order_acquire) ==
                      static_cast<std::uint32_t>(wire::RingState::kFree);
    if (free && last_[ring] == 0) continue;  // its page is not touched
    const std::uint64_t now =
        segment.ring_header(ring)->overhead_ns.load(std::memory_order_relaxed);
    const std::uint64_t added = now > last_[ring] ? now - last_[ring] : 0;
    last_[ring] = now;
    if (added > ingest::kMaxPlausibleCount) continue;
    own_ns_ += added;
    if (free || added == 0) continue;
    ThreadCost& cost = costs[entry.tid.load(std::memory_order_relaxed)];
    const bool signal = entry.role.load(std::memory_order_relaxed) ==
                        static_cast<std::uint32_t>(wire::RingRole::kSignal);
    (signal ? cost.samples_ns : cost.callbacks_ns) += added;
  }
  return costs;
}

std::optional<Governor::Decision> OverheadMonitor::look(const ingest::SharedSegment& segment,
                                                        bool recording, std::uint64_t now_ns) {
  if (now_ns - looked_ns_ < kPeriodNs) return {};
  looked_ns_ = now_ns;
  return governor_.check(now_ns, recording, since_last_check(segment), [this](std::uint32_t tid) {
    return support::thread_runtime_ns(static_cast<pid_t>(pid_), static_cast<pid_t>(tid));
  });
}

std::string OverheadMonitor::describe(const Governor::Decision& step) const {
  return fmt::format(messages::session_target::kOverLimit, percent_text(step.share_ppm), step.tid,
                     percent_text(limit_ppm_));
}

}  // namespace gpuprof::session
