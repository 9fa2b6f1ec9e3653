// SPDX-License-Identifier: Apache-2.0
//
// The map files of the processes that run generated code.
//
// Context:  daemon (watch: ingest thread; find: any export thread)
// Owns:     the folder of each such process, as long as files of it may be written
// Promises: a process's own /tmp is looked into, in its own root and under the number it knows
//           itself by; a process that has ended meanwhile is not mistaken for another
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "analysis/symbols/perf_map.hpp"

namespace gpuprof::symbols {

class PerfMapRegistry {
 public:
  /// The daemon's own.
  static PerfMapRegistry& shared();

  /// The living process `pid` runs generated code.
  /// @param start_ticks When it began, as /proc/PID/stat has it; 0: not known.
  void watch(std::uint32_t pid, std::uint64_t start_ticks);

  /// Null if none is watched. Of two with one number, the one seen last.
  std::shared_ptr<PerfMap> find(std::uint32_t pid) const;

 private:
  static constexpr std::size_t kMaxProcesses = 256;  // each holds two descriptors
  struct Known {
    std::uint32_t pid;
    std::uint64_t start_ticks;
    std::shared_ptr<PerfMap> map;
  };
  mutable std::mutex mutex_;
  std::list<Known> known_;  // the latest first
};

}  // namespace gpuprof::symbols
