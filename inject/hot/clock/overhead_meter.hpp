// SPDX-License-Identifier: Apache-2.0
//
// What a thread spends in our code: one entry in many is timed and stands for those before it.
//
// Context:  signal | callback (its own thread only)
// Promises: while it is off, one branch per entry; entries are not timed at a fixed distance, with
//           which a program that repeats itself could fall into step
// Not here: who adds it up (wire::RingHeader::overhead_ns) and what follows from it
//           (daemon/session)
#pragma once

#include <cstdint>

namespace gpuprof::hot {

/// Zeroed: off.
class OverheadMeter {
 public:
  /// @param rare For signals, which are expensive: one in 4 or 5 is timed, else one in 64 or 65.
  void begin(bool rare, std::uint32_t seed);

  bool is_on() const { return left_ != 0; }
  /// Whether the entry under way is timed.
  bool is_timed() const { return begun_ns_ != 0; }

  /// Our code is entered. @param delivers It receives what many threads did: it is timed, and
  /// stands for itself only.
  void enter(bool delivers) {
    if (delivers || --left_ == 0) begin_timing(delivers);
  }

  /// The entry under way began earlier than its Guard.
  void set_begin(std::uint64_t ts_ns) {
    if (is_timed()) begun_ns_ = ts_ns;
  }
  /// Our caller spent `ns` on the call itself.
  void add_caller_cost(std::uint32_t ns) {
    if (is_timed()) begun_ns_ -= ns;
  }

  /// The timed entry ends. @return What it and those it stands for cost, in ns.
  [[gnu::noinline, gnu::cold]] std::uint64_t end();

 private:
  void choose();
  [[gnu::noinline, gnu::cold]] void begin_timing(bool delivers);

  std::uint64_t begun_ns_ = 0;  // of the timed one; 0: it is not timed
  std::uint32_t left_ = 0;      // entries until one is timed; 0: off
  std::uint32_t distance_ = 0;
  std::uint32_t stands_for_ = 0;  // the one that is timed; 0: for itself
  std::uint32_t random_ = 0;
  std::uint32_t nearest_ = 0, mask_ = 0;  // of what random_ chooses among
};

/// Measures how long reading the clock takes, which is part of every measurement. Worker, before a
/// session.
void calibrate_clock_cost();

}  // namespace gpuprof::hot
