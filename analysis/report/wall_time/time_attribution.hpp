// SPDX-License-Identifier: Apache-2.0
//
// What the stepping thread did in some stretch of time: its operators, and between them what
// samples saw or, where none did, the lines that lie there.
//
// Context:  cli
// Owns:     chains of the program's own frames, each once
// Promises: what is reported of a stretch adds up to its length
// Not here: which stretches are worth it (wall_time.cpp, stalls.cpp)
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/report/step_thread/source_lines.hpp"
#include "analysis/report/step_thread/step_thread.hpp"
#include "analysis/report/wall_time/wall_time.hpp"

namespace gpuprof::report {

/// A line of the program, or (`after` != 0) somewhere between two lines of one function.
struct LineKey {
  FrameId frame = 0, after = 0;
  auto operator<=>(const LineKey&) const = default;
};
/// From outside in; the program's own frames only.
using UserFrames = std::vector<LineKey>;

/// A part of a stretch, of one kind at one place.
struct TimeShare {
  std::uint32_t chain = 0;  // of TimeAttributor
  HostActivityKind doing = HostActivityKind::kUnknown;
  std::uint32_t name = 0;  // of StepThread: operator, call
  FrameId callee = 0;      // the frame called by the innermost one of the chain; 0: none
  bool seen = false;       // by a sample, or it is an operator
  bool gap = false;        // no operator ran
  bool sequenced = false;  // an operator that autograd numbered, or one of its nodes
  std::uint64_t ns = 0, ops = 0;
  std::uint64_t weight_ns = 0;  // of the samples in it
};
struct Attribution {
  std::uint64_t ns = 0;
  std::vector<TimeShare> bits;
};

class TimeAttributor {
 public:
  explicit TimeAttributor(const advice::StepThread& step_thread);

  Attribution attribute_interval(std::uint64_t start_ns, std::uint64_t end_ns);
  /// The line at the level of the loop that a bit counts for. No line: {}.
  LineKey loop_line(const TimeShare& bit) const;
  std::size_t loop_depth(const TimeShare& bit) const { return homes_[bit.chain]; }
  const UserFrames& chain(const TimeShare& bit) const { return chains_[bit.chain]; }
  const advice::StepThread& step_thread() const { return step_thread_; }
  /// Whether steps go backward, so that operators without it are an evaluation.
  bool runs_backward() const { return trains_; }
  advice::SourceLines& sources() { return sources_; }

 private:
  struct StackInfo {
    HostActivityKind doing = HostActivityKind::kUserCode;
    std::uint32_t chain = 0;
    FrameId callee = 0;
  };

  void find_loop_level();
  StackInfo classify_stack(std::uint32_t stack);
  const StackInfo& of(std::uint32_t stack);
  std::uint32_t chain_id(UserFrames chain);
  std::uint32_t gap_chain(std::uint32_t before, std::uint32_t after);
  void add_op(Attribution& attribution, std::size_t op, std::uint64_t start_ns,
              std::uint64_t end_ns);
  void add_gap(Attribution& attribution, std::size_t next_op, std::uint64_t start_ns,
               std::uint64_t end_ns);
  std::size_t loop_index(const UserFrames& chain) const;
  void distribute(Attribution& attribution, const advice::StepThreadOp* op,
                  std::span<const advice::ThreadSample> samples, std::uint64_t ns);
  /// Deals a segment out among the samples in it. False: there are none.
  ///
  /// @param since_ns Begin of the operator or gap that the segment is cut from.
  bool add_samples(Attribution& attribution, const advice::StepThreadOp* op, std::uint64_t since_ns,
                   std::uint64_t start_ns, std::uint64_t end_ns);
  bool add_lock(Attribution& attribution, std::uint64_t start_ns, std::uint64_t end_ns,
                bool wanted);
  FrameId line_of_lock_holder(std::uint64_t start_ns, std::uint64_t end_ns) const;

  const advice::StepThread& step_thread_;
  advice::SourceLines sources_;
  bool trains_ = false, lock_seen_ = false;
  std::vector<std::pair<std::string, std::string>> level_;  // file, function: around the loop
  std::vector<UserFrames> chains_{UserFrames{}};
  std::vector<std::size_t> homes_{0};
  std::map<UserFrames, std::uint32_t> chain_ids_;
  std::unordered_map<std::uint32_t, StackInfo> stacks_;
  std::unordered_map<std::uint64_t, std::uint32_t> gaps_;
};

/// Adds up attributions of stretches, by line.
class LineAggregator {
 public:
  LineAggregator(TimeAttributor& explainer, WallPhase part) : e_(explainer), part_(part) {}

  /// All of an attribution, for the step or pause `label`.
  void add(const Attribution& attribution, std::uint64_t label);
  /// The part of an attribution that counts for `loop_line`, `ns` of it.
  void add(const Attribution& attribution, const LineKey& loop_line, std::uint64_t ns,
           std::uint64_t label);
  /// Time of which nothing is known.
  void add_unknown(std::uint64_t ns, std::uint64_t label);

  /// At most `most`, those with most time; smaller ones are left out.
  std::vector<SlowSpot> finish(std::size_t most);

 private:
  struct LabeledTime {
    std::uint64_t label, ns;
  };
  struct LineTotals {
    std::uint64_t ns = 0;
    std::vector<LabeledTime> times;
    std::vector<TimeShare> bits;  // merged
  };
  static void count(const LineTotals& group, SlowSpot& stretch);
  static void merge(LineTotals& group, const TimeShare& bit);
  void merge_gaps_into_lines();
  HostActivity make_activity(const LineKey& loop_line, const LineTotals& group);
  void set_location(const LineKey& key, const LineTotals& group, HostActivity& reported);

  TimeAttributor& e_;
  WallPhase part_;
  std::map<LineKey, LineTotals> groups_;
};

}  // namespace gpuprof::report
