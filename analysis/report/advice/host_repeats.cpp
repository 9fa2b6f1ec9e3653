// SPDX-License-Identifier: Apache-2.0
//
// Operators that repeat, backward passes, and host time by line.
//
// Context:  cli
#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/report/advice/host_patterns.hpp"

namespace gpuprof::report::advice {
namespace {

constexpr std::uint64_t kShortestRun = 3;

bool same_work(const Story& story, const std::vector<StackFacts>& facts, const StoryOp& a,
               const StoryOp& b) {
  if (a.name != b.name || a.inputs != b.inputs) return false;
  const Frame& left = story.places.frames[facts[a.stack].user];
  const Frame& right = story.places.frames[facts[b.stack].user];
  return left.name == right.name && left.file == right.file;
}

bool may_repeat(const StoryOp& op, const std::vector<StackFacts>& facts) {
  return op.kind == StoryKind::kPlain && op.inputs != 0 && op.wait_ops == 0 &&
         facts[op.stack].direct && !facts[op.stack].backward;
}

/// Follows the calls of backward() along the thread.
class PassFinder {
 public:
  PassFinder(const Story& story, const std::vector<StackFacts>& facts)
      : story_(story), facts_(facts) {}

  Passes find();

 private:
  void open(std::size_t at);
  void close();
  void take_nodes(std::uint64_t until_ns);
  void widen(std::int64_t sequence);
  struct Numbers {
    std::int64_t lowest = -1, highest = -2;
  };
  void find_forward(Pass* pass, const Numbers& needed);
  void compare_with_last();
  void come_back();

  const Story& story_;
  const std::vector<StackFacts>& facts_;
  Passes found_;
  Pass pass_;
  bool is_open_ = false, has_nodes_ = false;
  std::size_t node_ = 0;
  std::size_t step_ = 0;
};

void PassFinder::open(std::size_t at) {
  close();
  pass_ = Pass();
  pass_.first = pass_.last = at;
  pass_.start_ns = story_.ops[at].start_ns;
  pass_.line = facts_[story_.ops[at].stack].user;
  is_open_ = true;
  has_nodes_ = false;
}

void PassFinder::widen(std::int64_t sequence) {
  has_nodes_ = true;
  if (sequence < 0 || sequence >= std::int64_t{1} << 62) return;
  pass_.lowest = pass_.lowest < 0 ? sequence : std::min(pass_.lowest, sequence);
  pass_.highest = std::max(pass_.highest, sequence);
}

void PassFinder::take_nodes(std::uint64_t until_ns) {
  for (; node_ < story_.backward.size() && story_.backward[node_].start_ns < until_ns; ++node_) {
    const StoryNode& node = story_.backward[node_];
    if (!is_open_ || node.start_ns < pass_.start_ns) continue;
    pass_.end_ns = std::max(pass_.end_ns, std::min(node.end_ns, until_ns));
    widen(node.sequence);
  }
}

/// Walks back over the operators whose numbers the nodes have, but for those a later pass needs.
void PassFinder::find_forward(Pass* pass, const Numbers& needed) {
  pass->forward_ns = 0;
  pass->forward_op = pass->first;
  if (pass->lowest < 0) return;
  std::uint64_t end_ns = pass->start_ns;
  for (std::size_t i = pass->first; i-- > 0;) {
    const StoryOp& op = story_.ops[i];
    const bool other = op.kind == StoryKind::kLoader || op.kind == StoryKind::kOptimizer;
    if (other || (op.sequence >= 0 && op.sequence < pass->lowest)) break;
    const bool within = op.sequence >= pass->lowest && op.sequence <= pass->highest;
    const bool spared = op.sequence >= needed.lowest && op.sequence <= needed.highest;
    if (within && !spared && !facts_[op.stack].backward) {
      pass->forward_ns += end_ns - op.start_ns;
      pass->forward_op = i;
    }
    end_ns = op.start_ns;
  }
}

/// Two passes over one graph: the earlier one had it retained.
void PassFinder::compare_with_last() {
  if (found_.passes.empty() || pass_.lowest < 0) return;
  Pass& last = found_.passes.back();
  if (last.lowest > pass_.highest || pass_.lowest > last.highest) return;
  last.again = true;
  find_forward(&last, {pass_.lowest, pass_.highest});
}

/// From another thread's last node until backward() has returned: where no line of the program lies
/// between its call and the next operator, all of that.
void PassFinder::come_back() {
  if (pass_.end_ns == story_.ops[pass_.last].end_ns || pass_.last + 1 == story_.ops.size()) return;
  const StoryOp& next = story_.ops[pass_.last + 1];
  const Frame& called = story_.places.frames[pass_.line];
  for (const FrameId id : story_.places.stacks[next.stack]) {
    const Frame& frame = story_.places.frames[id];
    if (frame.file != called.file || frame.name != called.name) continue;
    if (frame.line <= called.line + 1) pass_.end_ns = std::max(pass_.end_ns, next.start_ns);
    return;
  }
}

void PassFinder::close() {
  if (!is_open_) return;
  is_open_ = false;
  pass_.end_ns = std::max(pass_.end_ns, story_.ops[pass_.last].end_ns);
  come_back();
  find_forward(&pass_, {});
  const std::uint64_t inside =
      inside_steps(story_, &step_, pass_.start_ns, std::max(pass_.start_ns + 1, pass_.end_ns));
  if (inside == 0 || !has_nodes_) return;
  compare_with_last();
  found_.passes.push_back(pass_);
}

Passes PassFinder::find() {
  for (std::size_t i = 0; i < story_.ops.size(); ++i) {
    const StoryOp& op = story_.ops[i];
    const StackFacts& facts = facts_[op.stack];
    take_nodes(op.start_ns);
    if (!facts.backward) {
      close();
    } else if (!is_open_ || facts.user != pass_.line || (facts.grads_made && has_nodes_)) {
      open(i);
    }
    if (is_open_) {
      pass_.last = i;
      if (op.kind == StoryKind::kEvaluate) widen(op.sequence);
    }
    if (op.kind != StoryKind::kOptimizer) continue;
    std::size_t at = 0;
    if (inside_steps(story_, &at, op.start_ns, op.end_ns) == 0) continue;
    ++found_.optimizer_steps;
    if (!found_.passes.empty()) found_.passes.back().before_optimizer = true;
  }
  take_nodes(~std::uint64_t{0});
  close();
  return std::move(found_);
}

}  // namespace

std::vector<StackFacts> stack_facts(const Story& story) {
  std::vector<StackFacts> facts(story.places.stacks.size());
  for (std::size_t i = 1; i < facts.size(); ++i) {
    const auto& stack = story.places.stacks[i];
    StackFacts& of = facts[i];
    of.user = story.places.user_frame(static_cast<StackRef>(i));
    of.direct = of.user != 0 && stack.front() == of.user;
    for (const FrameId id : stack) {
      const Frame& frame = story.places.frames[id];
      if (!frame.file.ends_with("torch/autograd/__init__.py")) continue;
      of.backward = of.backward || frame.name == "backward";
      of.grads_made = of.grads_made || frame.name == "_make_grads";
    }
    of.grads_made = of.grads_made && of.backward;
  }
  return facts;
}

std::vector<Run> find_runs(const Story& story, const std::vector<StackFacts>& facts) {
  std::vector<Run> runs;
  std::size_t step = 0;
  for (std::size_t i = 0; i < story.ops.size();) {
    const StoryOp& first = story.ops[i];
    std::size_t end = i + 1;
    const bool counts =
        may_repeat(first, facts) && inside_steps(story, &step, first.start_ns, first.end_ns) != 0;
    if (counts) {
      const std::uint64_t step_end_ns = story.steps[step].end_ns;
      while (end < story.ops.size() && story.ops[end].start_ns < step_end_ns &&
             may_repeat(story.ops[end], facts) && same_work(story, facts, first, story.ops[end]))
        ++end;
    }
    if (counts && end - i >= kShortestRun)
      runs.push_back(
          {i, end - 1, first.start_ns, story.ops[end - 1].end_ns, facts[first.stack].user});
    i = end;
  }
  return runs;
}

Passes find_passes(const Story& story, const std::vector<StackFacts>& facts) {
  return PassFinder(story, facts).find();
}

std::vector<LineTime> line_times(const Story& story, const std::vector<StackFacts>& facts) {
  using Key = std::tuple<std::string, std::string, int, int>;
  std::map<Key, std::uint64_t> sums;
  const auto add = [&](FrameId from, FrameId to, std::uint64_t ns) {
    const Frame& frame = story.places.frames[from];
    if (from != 0) sums[{frame.file, frame.name, frame.line, story.places.frames[to].line}] += ns;
  };
  std::size_t step = 0;
  for (const StoryOp& op : story.ops) {
    const std::uint64_t ns = inside_steps(story, &step, op.start_ns, op.end_ns);
    const FrameId line = facts[op.stack].user;
    add(line, line, ns - std::min(ns, talking_ns(story, op.start_ns, op.end_ns)));
  }
  for (const GapPlace& gap : find_gaps(story)) add(gap.before, gap.after, gap.total_ns);
  std::vector<LineTime> lines;
  for (const auto& [key, ns] : sums)
    lines.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), ns});
  std::sort(lines.begin(), lines.end(),
            [](const LineTime& a, const LineTime& b) { return a.ns > b.ns; });
  return lines;
}

Where where_of(const Story& story, FrameId frame) {
  if (frame == 0) return {};
  const Frame& at = story.places.frames[frame];
  return {at.file, at.name, at.line, at.line};
}

}  // namespace gpuprof::report::advice
