// SPDX-License-Identifier: Apache-2.0
//
// From the clock of CUPTI's records to CLOCK_MONOTONIC, piece by piece.
//
// Context:  daemon (ingest thread)
// Owns:     the readings of one process
// Promises: bounded; a time before the first reading uses the first; a CLOCK_REALTIME that was
//           set while recording bends nothing but the records of that instant
// Not here: when clocks are read (inject/cupti)
#pragma once

#include <cstdint>
#include <vector>

#include "gpuprof/wire/records.hpp"

namespace gpuprof::ingest {

class Clocks {
 public:
  /// A pair to start with, from Hello: good while CUPTI counts CLOCK_REALTIME, replaced by the
  /// first real reading.
  void seed(std::uint64_t mono_ns, std::uint64_t real_ns);

  /// Adds a reading. Returns by how much CLOCK_REALTIME was set since the last one, in ns;
  /// 0 if it was not (slewing stays below the threshold).
  std::int64_t add(const wire::ClockSync& sync);

  bool known() const { return !pieces_.empty(); }
  bool foreign() const { return foreign_; }
  std::size_t pieces() const { return pieces_.size(); }

  /// CLOCK_MONOTONIC of a CUPTI time; `known()` must be true.
  std::uint64_t to_mono(std::uint64_t cupti_ns) const;

 private:
  /// From cupti_ns on: mono = mono_ns + (t - cupti_ns).
  struct Piece {
    std::uint64_t cupti_ns, mono_ns, gap_ns;
  };

  std::vector<Piece> pieces_;
  bool seeded_ = false, foreign_ = false;
  bool have_real_ = false;
  std::uint64_t last_mono_ns_ = 0, last_real_ns_ = 0;
};

}  // namespace gpuprof::ingest
