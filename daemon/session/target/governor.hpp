// SPDX-License-Identifier: Apache-2.0
//
// Whether recording a process costs more than --max-overhead, and what to leave out next.
//
// Context:  daemon (ingest thread)
// Owns:     the last second of each thread of one process
// Promises: only ever leaves out more; one reduction at a time, each judged anew by what came after
//           it; figures that no thread can have are cut to the time that passed
// Not here: where the figures come from and to whom a reduction is reported (overhead_monitor.hpp)
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpuprof/wire/messages.hpp"

namespace gpuprof::session {

/// What leaving something out takes away, and from where its cost comes.
struct Reduction {
  enum class Saves { kAnywhere, kSamples, kCallbacks };
  std::uint32_t reduced;  // wire::kThrottle… bits: all that is left out from here on
  Saves saves;
  std::string what;  // the begin of a sentence: "stacks of … are no longer recorded"
};

/// The reductions of what is asked for, in the order they are taken. Nothing is in it that is off
/// anyway.
/// @param needs_steps Windows are counted in them.
std::vector<Reduction> reductions_for(const wire::Config& config, bool needs_steps);

/// What a thread spent in our code since the last look.
struct ThreadCost {
  std::uint64_t callbacks_ns = 0, samples_ns = 0;
  std::uint64_t sum() const { return callbacks_ns + samples_ns; }
};
using ThreadCosts = std::map<std::uint32_t, ThreadCost>;

/// CPU time of a thread so far; nothing where it cannot be asked.
using CpuTime = std::function<std::optional<std::uint64_t>(std::uint32_t tid)>;

class Governor {
 public:
  /// Looks are judged over this much recorded time.
  static constexpr std::uint64_t kWindowNs = 1'000'000'000;

  /// A thread that spent `share_ppm` in our code, and what is left out for it. Without a reduction:
  /// nothing is left to leave out, which is reported once.
  struct Decision {
    std::uint32_t tid = 0;
    std::uint64_t share_ppm = 0;
    std::optional<Reduction> reduction;
  };

  Governor(std::uint64_t limit_ppm, std::vector<Reduction> reductions)
      : limit_ppm_(limit_ppm), reductions_(std::move(reductions)) {}

  /// One look at all threads, some 100 ms after the last. While nothing is recorded nothing is
  /// judged: windows that are shorter than a second are put together.
  std::optional<Decision> check(std::uint64_t now_ns, bool recording, const ThreadCosts& costs,
                                const CpuTime& cpu_time);

  /// All that is left out: wire::kThrottle… bits.
  std::uint32_t reduced() const { return less_; }
  /// The largest share of any thread in any full second, and in the present one.
  std::uint64_t highest_ppm() const { return highest_ppm_; }
  std::uint64_t current_ppm() const { return present_ppm_; }

 private:
  struct Thread {
    ThreadCost cost;
    std::uint64_t ran_ns = 0;
  };
  struct CheckPeriod {
    std::uint64_t length_ns = 0;
    std::map<std::uint32_t, Thread> threads;
  };
  struct Share {
    std::uint32_t tid = 0;
    std::uint64_t ppm = 0;
    ThreadCost cost;
  };

  void add(std::uint64_t length_ns, const ThreadCosts& costs, const CpuTime& cpu_time);
  Share largest() const;
  std::optional<Reduction> take_reduction(const ThreadCost& cost);

  std::uint64_t limit_ppm_;
  std::vector<Reduction> reductions_;  // not taken yet
  std::uint32_t less_ = 0;
  bool exhausted_ = false;
  std::uint64_t looked_ns_ = 0, effective_from_ns_ = 0;
  std::uint64_t covered_ns_ = 0;  // by looks_
  std::uint64_t highest_ppm_ = 0, present_ppm_ = 0;
  std::deque<CheckPeriod> looks_;
  std::map<std::uint32_t, std::uint64_t> cpu_ns_;  // of threads at the last look
};

}  // namespace gpuprof::session
