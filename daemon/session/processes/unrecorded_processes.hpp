// SPDX-License-Identifier: Apache-2.0
//
// Descendants of the program that use CPU time and have not connected: reported with the reason, as
// far as their files and environments tell it.
//
// Context:  daemon (ingest thread)
// Owns:     nothing but what it saw
// Promises: a look takes at most a two-hundredth of the time
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpuprof::session {

class UnrecordedProcesses {
 public:
  using IsKnown = std::function<bool(std::uint32_t pid)>;

  /// Looks at what is below `root`, itself left out, if it is time to.
  void look(std::uint32_t root, const IsKnown& is_known, std::uint64_t now_ns);

  /// A sentence for each that used a fifth of a second and is not known, the busiest first; of many
  /// the rest in one.
  std::vector<std::string> messages(const IsKnown& is_known) const;

 private:
  struct Process {
    std::string name, why;
    std::uint64_t cpu_ticks = 0;
  };
  std::map<std::uint32_t, Process> processes_;
  std::uint64_t due_ns_ = 0;
};

}  // namespace gpuprof::session
