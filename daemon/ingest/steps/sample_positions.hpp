// SPDX-License-Identifier: Apache-2.0
//
// Where in a loop a thread was at its samples, compared with two of its operators.
//
// Context:  daemon (ingest thread)
// Owns:     Python frames of stacks, the newest samples of each thread
// Promises: bounded; what cannot be determined is reported as unknown
// Not here: what follows for steps (step_boundaries.hpp)
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "daemon/ingest/decode/decoder.hpp"
#include "gpuprof/wire/records.hpp"

namespace gpuprof::ingest {

/// Which part of a loop's body a sample was in.
enum class LoopPart : std::uint8_t {
  kUnknown,
  kTail,     // after the last operator of an iteration, which goes on
  kHead,     // before the first operator of the next one, which has begun
  kOutside,  // not in the loop
};

class SamplePositions {
 public:
  /// Of one sample.
  struct Position {
    std::uint64_t ts_ns;
    LoopPart part;
  };

  void define(const wire::StackDef& stack, const Tail& tail);
  void add(const wire::Sample& sample);

  /// What the thread's samples between `from_ns` and `to_ns` tell.
  ///
  /// @param last, first  Stacks of the last operator before and of the first one after; 0: unknown.
  std::vector<Position> between(std::uint32_t tid, std::uint64_t from_ns, std::uint64_t to_ns,
                                const wire::LoopDef& loop, std::uint64_t last,
                                std::uint64_t first) const;

  std::size_t stacks_kept() const { return stacks_.size(); }
  bool has_thread(std::uint32_t tid) const { return threads_.contains(tid); }

  /// Nobody will ask for older ones of this thread.
  void forget(std::uint32_t tid, std::uint64_t before_ns);

 private:
  static constexpr std::size_t kMaxFrames = 1u << 20, kMaxThreads = 256, kMaxSamples = 4096;
  struct Frame {
    std::uint64_t code_id;
    std::int32_t at;
  };
  using Frames = std::vector<Frame>;  // outermost first
  struct Sample {
    std::uint64_t ts_ns, stack_id;
  };

  bool has_room(std::uint32_t tid, std::uint64_t ts_ns);
  const Frames* frames(std::uint64_t stack_id) const;
  static LoopPart part_of(const Frames& seen, const wire::LoopDef& loop, const Frames* last,
                          const Frames* first);

  std::unordered_map<std::uint64_t, Frames> stacks_;
  std::size_t frames_kept_ = 0;
  std::unordered_map<std::uint32_t, std::deque<Sample>> threads_;  // by tid, each by time
  std::uint64_t full_until_ns_ = 0;  // then one of them may have ended
};

}  // namespace gpuprof::ingest
