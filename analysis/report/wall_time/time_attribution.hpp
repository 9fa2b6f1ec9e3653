// SPDX-License-Identifier: Apache-2.0
//
// What the stepping thread did in some stretch of time: its operators, and between them what
// samples saw or, where none did, the lines that lie there.
//
// Context:  cli
// Owns:     chains of the program's own frames, each once
// Promises: what is told of a stretch adds up to its length
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
struct PlaceKey {
  FrameId frame = 0, after = 0;
  auto operator<=>(const PlaceKey&) const = default;
};
/// From outside in; the program's own frames only.
using Chain = std::vector<PlaceKey>;

/// A part of a stretch, of one kind at one place.
struct Bit {
  std::uint32_t chain = 0;  // of Explainer
  Doing doing = Doing::kUnseen;
  std::uint32_t name = 0;  // of Story: operator, call
  FrameId callee = 0;      // the frame called by the innermost one of the chain; 0: none
  bool seen = false;       // by a sample, or it is an operator
  bool gap = false;        // no operator ran
  bool sequenced = false;  // an operator that autograd numbered, or one of its nodes
  std::uint64_t ns = 0, ops = 0;
  std::uint64_t weight_ns = 0;  // of the samples in it
};
struct Look {
  std::uint64_t ns = 0;
  std::vector<Bit> bits;
};

class Explainer {
 public:
  explicit Explainer(const advice::Story& story);

  Look look(std::uint64_t start_ns, std::uint64_t end_ns);
  /// The line at the level of the loop that a bit counts for. No line: {}.
  PlaceKey home(const Bit& bit) const;
  std::size_t home_depth(const Bit& bit) const { return homes_[bit.chain]; }
  const Chain& chain(const Bit& bit) const { return chains_[bit.chain]; }
  const advice::Story& story() const { return story_; }
  /// Whether steps go backward, so that operators without it are an evaluation.
  bool trains() const { return trains_; }
  advice::SourceLines& sources() { return sources_; }

 private:
  struct StackSaid {
    Doing doing = Doing::kCode;
    std::uint32_t chain = 0;
    FrameId callee = 0;
  };

  void find_level();
  StackSaid read(std::uint32_t stack);
  const StackSaid& of(std::uint32_t stack);
  std::uint32_t chain_id(Chain chain);
  std::uint32_t gap_chain(std::uint32_t before, std::uint32_t after);
  void add_op(Look& look, std::size_t op, std::uint64_t start_ns, std::uint64_t end_ns);
  void add_gap(Look& look, std::size_t next_op, std::uint64_t start_ns, std::uint64_t end_ns);
  std::size_t home_index(const Chain& chain) const;
  void deal(Look& look, const advice::StoryOp* op, std::span<const advice::StorySample> samples,
            std::uint64_t ns);
  /// Deals a segment out among the samples in it. False: there are none.
  ///
  /// @param since_ns Begin of the operator or gap that the segment is cut from.
  bool add_samples(Look& look, const advice::StoryOp* op, std::uint64_t since_ns,
                   std::uint64_t start_ns, std::uint64_t end_ns);
  bool add_lock(Look& look, std::uint64_t start_ns, std::uint64_t end_ns, bool wanted);
  FrameId other_line(std::uint64_t start_ns, std::uint64_t end_ns) const;

  const advice::Story& story_;
  advice::SourceLines sources_;
  bool trains_ = false, lock_seen_ = false;
  std::vector<std::pair<std::string, std::string>> level_;  // file, function: around the loop
  std::vector<Chain> chains_{Chain{}};
  std::vector<std::size_t> homes_{0};
  std::map<Chain, std::uint32_t> chain_ids_;
  std::unordered_map<std::uint32_t, StackSaid> stacks_;
  std::unordered_map<std::uint64_t, std::uint32_t> gaps_;
};

/// Adds up looks at stretches, by line.
class LineSums {
 public:
  LineSums(Explainer& explainer, WallPart part) : e_(explainer), part_(part) {}

  /// All of a look, for the step or pause `label`.
  void add(const Look& look, std::uint64_t label);
  /// Of a look what counts for `home`, `ns` of it.
  void add(const Look& look, const PlaceKey& home, std::uint64_t ns, std::uint64_t label);
  /// Time of which nothing is known.
  void add_unseen(std::uint64_t ns, std::uint64_t label);

  /// At most `most`, those with most time; smaller ones are left out.
  std::vector<Stretch> finish(std::size_t most);

 private:
  struct Time {
    std::uint64_t label, ns;
  };
  struct Group {
    std::uint64_t ns = 0;
    std::vector<Time> times;
    std::vector<Bit> bits;  // merged
  };
  static void count(const Group& group, Stretch& stretch);
  static void merge(Group& group, const Bit& bit);
  void join_gaps();
  Told tell(const PlaceKey& home, const Group& group);
  void place(const PlaceKey& key, const Group& group, Told& told);

  Explainer& e_;
  WallPart part_;
  std::map<PlaceKey, Group> groups_;
};

}  // namespace gpuprof::report
