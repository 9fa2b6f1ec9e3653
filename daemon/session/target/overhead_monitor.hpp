// SPDX-License-Identifier: Apache-2.0
//
// The overhead of recording one process, as its threads measure it, compared with --max-overhead.
//
// Context:  daemon (ingest thread)
// Owns:     the last values of the ring buffers' counters
// Promises: looks ten times a second; touches the pages of ring buffers that were in use only
// Not here: what follows from the figures (governor.hpp)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/ingest/decode/shared_segment.hpp"
#include "daemon/session/target/governor.hpp"

namespace gpuprof::session {

class OverheadMonitor {
 public:
  OverheadMonitor(std::uint64_t limit_ppm, std::vector<Reduction> reductions, std::uint32_t pid);

  /// What has to be left out from now on, if a look is due and says so.
  std::optional<Governor::Decision> look(const ingest::SharedSegment& segment, bool recording,
                                         std::uint64_t now_ns);

  std::uint64_t limit_ppm() const { return limit_ppm_; }
  /// "5.2 % of the time of thread 17 was spent in gpuprof's own code, more than …".
  std::string describe(const Governor::Decision& step) const;

  const Governor& governor() const { return governor_; }
  /// Of all threads, since the beginning.
  std::uint64_t own_ns() const { return own_ns_; }

 private:
  ThreadCosts since_last_check(const ingest::SharedSegment& segment);

  std::uint64_t limit_ppm_;
  std::uint32_t pid_;
  Governor governor_;
  std::uint64_t looked_ns_ = 0, own_ns_ = 0;
  std::vector<std::uint64_t> last_;  // RingHeader::overhead_ns, by ring buffer
};

/// "5.2 %".
std::string percent_text(std::uint64_t ppm);

}  // namespace gpuprof::session
