// SPDX-License-Identifier: Apache-2.0
//
// See delivery_monitor.hpp.
//
// Context:  daemon (ingest thread)
// Owns:     nothing
#include "daemon/ingest/correlation/delivery_monitor.hpp"

namespace gpuprof::ingest {

namespace {

// Longer than records wait here for a clock, and for each other.
constexpr std::uint64_t kDueNs = 500'000'000;

}  // namespace

bool DeliveryMonitor::is_silent(CuptiSource source, std::uint64_t now_ns, bool last) const {
  const std::uint64_t since_ns = of(source).first_overdue_ns;
  if (since_ns == 0 || (!last && now_ns < since_ns + kDueNs)) return false;
  // A callback is made at once, with nobody asking.
  if (source == CuptiSource::kCallbacks) return true;
  // The reading before the last one was the one before the last flush.
  if (since_ns >= (last ? flushes_[1] : asked_ns_)) return false;
  if (source != CuptiSource::kGpuActivity || since_ns < waited_ns_) return true;
  return last && delivered(source) == 0 && since_ns < last_waited_ns_;
}

}  // namespace gpuprof::ingest
