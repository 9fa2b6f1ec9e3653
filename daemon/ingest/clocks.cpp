// SPDX-License-Identifier: Apache-2.0
//
// Readings become pieces: a new one begins only where the two clocks really moved apart.
//
// Context:  daemon (ingest thread)
// Owns:     see clocks.hpp
#include "daemon/ingest/clocks.hpp"

#include <algorithm>

namespace gpuprof::ingest {
namespace {

constexpr std::size_t kMostPieces = 4096;
/// NTP slews at most 0.5 ms a second; a difference above this between two readings is a step.
constexpr std::int64_t kStepNs = 1'000'000;
/// Within the uncertainty of two readings nothing is known to have changed, and a piece that
/// starts anyway would let neighbouring kernels overlap by the difference.
constexpr std::int64_t kSlackNs = 200;

/// Clocks are read at every flush (25 ms): a record is never this much younger than a reading.
constexpr std::uint64_t kAheadNs = 2'000'000'000;

std::int64_t difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);
}

}  // namespace

void Clocks::seed(std::uint64_t mono_ns, std::uint64_t real_ns) {
  if (!pieces_.empty()) return;
  pieces_.push_back(Piece{real_ns, mono_ns, 0});
  seeded_ = true;
}

std::int64_t Clocks::add(const wire::ClockSync& sync) {
  std::int64_t stepped = 0;
  if (have_real_) {
    const std::int64_t moved =
        difference(sync.real_ns, sync.mono_ns) - difference(last_real_ns_, last_mono_ns_);
    if (moved > kStepNs || moved < -kStepNs) stepped = moved;
  }
  have_real_ = true;
  last_mono_ns_ = sync.mono_ns;
  last_real_ns_ = sync.real_ns;
  foreign_ = foreign_ || (sync.flags & wire::kClockForeign) != 0;
  if (sync.cupti_ns == 0) return stepped;

  const Piece next{sync.cupti_ns, sync.mono_ns, std::min<std::uint64_t>(sync.gap_ns, 1'000'000)};
  if (seeded_ || pieces_.empty()) {
    pieces_.assign(1, next);
    seeded_ = false;
    return stepped;
  }
  const Piece& last = pieces_.back();
  const std::int64_t moved =
      difference(next.cupti_ns, next.mono_ns) - difference(last.cupti_ns, last.mono_ns);
  const auto unsure = static_cast<std::int64_t>(last.gap_ns + next.gap_ns) + kSlackNs;
  if (moved <= unsure && moved >= -unsure) return stepped;
  if (pieces_.size() == kMostPieces) pieces_.erase(pieces_.begin() + 1);
  pieces_.push_back(next);
  return stepped;
}

std::uint64_t Clocks::to_mono(std::uint64_t cupti_ns) const {
  std::uint64_t fallback = 0;
  for (std::size_t i = pieces_.size(); i-- > 0;) {
    const Piece& piece = pieces_[i];
    if (cupti_ns < piece.cupti_ns) continue;
    const std::uint64_t mono = piece.mono_ns + (cupti_ns - piece.cupti_ns);
    // After CLOCK_REALTIME was set back, a time may lie behind two readings: the piece that ended
    // before it is the wrong one, and so is the newest for a time far in the future.
    const std::uint64_t until =
        i + 1 == pieces_.size() ? last_mono_ns_ + kAheadNs : pieces_[i + 1].mono_ns;
    if (mono <= until || seeded_) return mono;
    if (fallback == 0) fallback = mono;
  }
  if (fallback != 0) return fallback;
  const Piece& first = pieces_.front();
  const std::uint64_t before = first.cupti_ns - cupti_ns;
  return before < first.mono_ns ? first.mono_ns - before : 0;
}

}  // namespace gpuprof::ingest
