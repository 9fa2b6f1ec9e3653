// SPDX-License-Identifier: Apache-2.0
//
// Where the steps that are iterations of a loop begin and end.
//
// Context:  daemon (ingest thread)
// Owns:     what is known of each step that was not written yet
// Promises: bounded; steps are without gaps as long as the loop is not left
// Not here: what a step is (step_finder.hpp), where threads are at samples (sample_positions.hpp)
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "daemon/ingest/steps/sample_positions.hpp"

namespace gpuprof::ingest {

/// What operators tell of one iteration. Times are 0, and stacks, where none was recorded.
struct StepExtent {
  std::uint64_t mark_ns = 0;  // the first operator in it begins
  std::uint32_t tid = 0;
  bool entry = false;                 // the loop was entered with it
  std::uint64_t end_ns = 0;           // its last operator ends
  std::uint64_t left_ns = 0;          // the first operator outside of the loop begins after it
  std::uint64_t first = 0, last = 0;  // stacks of its first and its last operator
};

/// Between two steps: equal where the second one follows without a gap.
struct StepBoundary {
  std::uint64_t end_ns, begin_ns;
};

/// The interpreter jumps back somewhere between the last operator of an iteration and the first of
/// the next one, and nothing tells when. As a rule that is soon after the one and soon before the
/// other. Where much time lies between, samples tell on which side of the jump it passed.
class StepBoundaries {
 public:
  /// The steps are its iterations from now on. @param before  Those that are over.
  void of_loop(const wire::LoopDef& loop, const std::vector<StepExtent>& before);
  SamplePositions& positions() { return positions_; }

  void begins(std::uint64_t mark_ns, std::uint32_t tid, bool entry);
  void begins(const StepExtent& span);
  /// An operator of the newest step has begun, has ended.
  void on_operator(std::uint64_t stack);
  void works_until(std::uint64_t ts_ns);
  /// The same for the loader's, which may belong to a step that has not begun, or to none.
  void on_loader(std::uint64_t ts_ns, std::uint64_t stack);
  void on_loader_end(std::uint64_t ts_ns);
  /// A range of the program's own has ended: one that began in the newest step is part of it.
  void extend_by_range(std::uint64_t begin_ns, std::uint64_t end_ns);
  /// An operator outside of the loop has begun.
  void on_loop_exit(std::uint64_t ts_ns);

  /// Between the steps with these marks, which follow on each other. Older ones are forgotten.
  StepBoundary boundary(std::uint64_t mark_ns, std::uint64_t next_ns);
  /// Begin of a step that follows on none.
  std::uint64_t begin_of(std::uint64_t mark_ns) const;
  /// End of the step with this mark, which was the last one; 0: no operator of it is known.
  std::uint64_t last_end_of(std::uint64_t mark_ns);

  /// Pauses between two operators that were long, and those of them where nothing told to which
  /// step they belong: they are of the first one.
  std::uint64_t long_pauses() const { return long_; }
  std::uint64_t unattributed_pauses() const { return unplaced_; }
  std::uint64_t unplaced_ns() const { return unplaced_ns_; }

 private:
  static constexpr std::size_t kMaxSpans = 1u << 20, kLengths = 64, kMaxLoads = 64;
  static constexpr std::uint64_t kUnknown = ~0ULL;

  static bool follows(const StepExtent& one, const StepExtent& next) {
    return one.left_ns == 0 && !next.entry && one.tid == next.tid;
  }
  StepExtent take(std::uint64_t mark_ns);
  StepBoundary inside_loop(const StepExtent& one, const StepExtent& next);
  StepBoundary boundary_after_exit(const StepExtent& one, const StepExtent& next);
  void learn(std::uint64_t pause_ns);
  /// A pause is long from so much more than usual on, and from twice the usual.
  std::uint64_t longest_usual_ns() const;
  /// What a sample may be away from the operators beside a pause, and say nothing of the rest of
  /// it: the signal for it took time, too.
  std::uint64_t near_ns() const { return 2 * longest_usual_ns(); }

  wire::LoopDef loop_{};
  SamplePositions positions_;
  std::deque<StepExtent> spans_;
  struct Load {
    std::uint64_t begin_ns, end_ns, stack;
  };
  std::vector<Load> loads_;    // since the newest operator of another kind
  std::uint64_t working_ = 0;  // stack of the newest operator
  std::vector<std::uint64_t> lengths_;
  std::uint64_t usual_ns_ =
      kUnknown;  // between the last operator of a step and the first of the next
  std::uint64_t long_ = 0, unplaced_ = 0, unplaced_ns_ = 0;
};

}  // namespace gpuprof::ingest
