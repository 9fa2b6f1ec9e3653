// SPDX-License-Identifier: Apache-2.0
//
// Where the steps that have begun end.
//
// Context:  daemon (ingest thread)
// Owns:     the last operator's end of each step that was not written yet
// Promises: bounded; a step whose operators were not recorded ends where the next begins
// Not here: what a step is (step_finder.hpp)
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace gpuprof::ingest {

/// A step ends where the next one begins, unless its loop was left in between or nothing happened
/// for long: then where its last operator ended.
class StepSpans {
 public:
  void begins(std::uint64_t ts_ns) {
    if (spans_.size() >= kMost) spans_.pop_front();
    spans_.push_back(Span{ts_ns, 0, false});
  }
  /// An operator of the newest step has begun.
  void works() {
    if (!spans_.empty()) spans_.back().left = false;
  }
  /// It has ended.
  void works_until(std::uint64_t ts_ns) {
    if (!spans_.empty() && ts_ns >= spans_.back().begin_ns) spans_.back().end_ns = ts_ns;
  }
  /// A range of the program's own has ended: one that began in the newest step is part of it.
  void encloses(std::uint64_t begin_ns, std::uint64_t end_ns) {
    if (spans_.empty() || spans_.back().left || begin_ns < spans_.back().begin_ns) return;
    spans_.back().end_ns = std::max(spans_.back().end_ns, end_ns);
  }
  /// An operator outside of the loop has begun.
  void leaves() {
    if (!spans_.empty()) spans_.back().left = true;
  }

  /// End of the step that began at `begin_ns`, when the next one begins at `next_ns`. Older ones
  /// are forgotten.
  std::uint64_t end_of(std::uint64_t begin_ns, std::uint64_t next_ns) {
    const Span span = take(begin_ns);
    const bool known = span.end_ns > begin_ns && span.end_ns <= next_ns;
    const bool pause = known && median_ns_ != 0 && next_ns - span.end_ns > 3 * median_ns_;
    const std::uint64_t end_ns = known && (span.left || pause) ? span.end_ns : next_ns;
    learn(end_ns - begin_ns);
    return end_ns;
  }
  /// End of the step that began at `begin_ns` and was the last one; 0: no operator of it is known.
  std::uint64_t last_end_of(std::uint64_t begin_ns) { return take(begin_ns).end_ns; }

 private:
  static constexpr std::size_t kMost = 1u << 20, kLengths = 64;
  struct Span {
    std::uint64_t begin_ns = 0, end_ns = 0;
    bool left = false;
  };

  Span take(std::uint64_t begin_ns) {
    while (!spans_.empty() && spans_.front().begin_ns < begin_ns) spans_.pop_front();
    if (spans_.empty() || spans_.front().begin_ns != begin_ns) return {};
    const Span span = spans_.front();
    spans_.pop_front();
    return span;
  }

  void learn(std::uint64_t length_ns) {
    lengths_.push_back(length_ns);
    if (lengths_.size() < (median_ns_ == 0 ? 3 : kLengths)) return;
    std::nth_element(lengths_.begin(), lengths_.begin() + lengths_.size() / 2, lengths_.end());
    median_ns_ = lengths_[lengths_.size() / 2];
    if (lengths_.size() >= kLengths) lengths_.clear();
  }

  std::deque<Span> spans_;
  std::vector<std::uint64_t> lengths_;
  std::uint64_t median_ns_ = 0;
};

}  // namespace gpuprof::ingest
