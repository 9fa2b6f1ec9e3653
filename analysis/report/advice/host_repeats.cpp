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

constexpr std::uint64_t kMinRunLength = 3;

bool same_work(const StepThread& step_thread, const std::vector<StackFacts>& facts,
               const StepThreadOp& a, const StepThreadOp& b) {
  if (a.name != b.name || a.inputs != b.inputs) return false;
  const StackFrame& left = step_thread.places.frames[facts[a.stack].user];
  const StackFrame& right = step_thread.places.frames[facts[b.stack].user];
  return left.name == right.name && left.file == right.file;
}

bool may_repeat(const StepThreadOp& op, const std::vector<StackFacts>& facts) {
  return op.kind == StepThreadOpKind::kPlain && op.inputs != 0 && op.wait_ops == 0 &&
         facts[op.stack].is_innermost && !facts[op.stack].backward;
}

/// Follows the calls of backward() along the thread.
class PassFinder {
 public:
  PassFinder(const StepThread& step_thread, const std::vector<StackFacts>& facts)
      : step_thread_(step_thread), facts_(facts) {}

  BackwardPasses find();

 private:
  void open(std::size_t at);
  void close();
  void add_nodes_until(std::uint64_t until_ns);
  void include_sequence(std::int64_t sequence);
  struct Numbers {
    std::int64_t lowest = -1, highest = -2;
  };
  void find_forward(BackwardPass* pass, const Numbers& needed);
  void compare_with_last();
  void extend_to_return();

  const StepThread& step_thread_;
  const std::vector<StackFacts>& facts_;
  BackwardPasses found_;
  BackwardPass pass_;
  bool is_open_ = false, has_nodes_ = false;
  std::size_t node_ = 0;
  std::size_t step_ = 0;
};

void PassFinder::open(std::size_t at) {
  close();
  pass_ = BackwardPass();
  pass_.first = pass_.last = at;
  pass_.start_ns = step_thread_.ops[at].start_ns;
  pass_.line = facts_[step_thread_.ops[at].stack].user;
  is_open_ = true;
  has_nodes_ = false;
}

void PassFinder::include_sequence(std::int64_t sequence) {
  has_nodes_ = true;
  if (sequence < 0 || sequence >= std::int64_t{1} << 62) return;
  pass_.lowest = pass_.lowest < 0 ? sequence : std::min(pass_.lowest, sequence);
  pass_.highest = std::max(pass_.highest, sequence);
}

void PassFinder::add_nodes_until(std::uint64_t until_ns) {
  for (; node_ < step_thread_.backward.size() && step_thread_.backward[node_].start_ns < until_ns;
       ++node_) {
    const BackwardNode& node = step_thread_.backward[node_];
    if (!is_open_ || node.start_ns < pass_.start_ns) continue;
    pass_.end_ns = std::max(pass_.end_ns, std::min(node.end_ns, until_ns));
    include_sequence(node.sequence);
  }
}

/// Walks back over the operators whose numbers the nodes have, but for those a later pass needs.
void PassFinder::find_forward(BackwardPass* pass, const Numbers& needed) {
  pass->forward_ns = 0;
  pass->forward_op = pass->first;
  if (pass->lowest < 0) return;
  std::uint64_t end_ns = pass->start_ns;
  for (std::size_t i = pass->first; i-- > 0;) {
    const StepThreadOp& op = step_thread_.ops[i];
    const bool other =
        op.kind == StepThreadOpKind::kLoader || op.kind == StepThreadOpKind::kOptimizer;
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
  BackwardPass& last = found_.passes.back();
  if (last.lowest > pass_.highest || pass_.lowest > last.highest) return;
  last.graph_retained = true;
  find_forward(&last, {pass_.lowest, pass_.highest});
}

/// From another thread's last node until backward() has returned: where no line of the program lies
/// between its call and the next operator, all of that.
void PassFinder::extend_to_return() {
  if (pass_.end_ns == step_thread_.ops[pass_.last].end_ns ||
      pass_.last + 1 == step_thread_.ops.size())
    return;
  const StepThreadOp& next = step_thread_.ops[pass_.last + 1];
  const StackFrame& called = step_thread_.places.frames[pass_.line];
  for (const FrameId id : step_thread_.places.stacks[next.stack]) {
    const StackFrame& frame = step_thread_.places.frames[id];
    if (frame.file != called.file || frame.name != called.name) continue;
    if (frame.line <= called.line + 1) pass_.end_ns = std::max(pass_.end_ns, next.start_ns);
    return;
  }
}

void PassFinder::close() {
  if (!is_open_) return;
  is_open_ = false;
  pass_.end_ns = std::max(pass_.end_ns, step_thread_.ops[pass_.last].end_ns);
  extend_to_return();
  find_forward(&pass_, {});
  const std::uint64_t inside = overlap_with_steps(step_thread_, &step_, pass_.start_ns,
                                                  std::max(pass_.start_ns + 1, pass_.end_ns));
  if (inside == 0 || !has_nodes_) return;
  compare_with_last();
  found_.passes.push_back(pass_);
}

BackwardPasses PassFinder::find() {
  for (std::size_t i = 0; i < step_thread_.ops.size(); ++i) {
    const StepThreadOp& op = step_thread_.ops[i];
    const StackFacts& facts = facts_[op.stack];
    add_nodes_until(op.start_ns);
    if (!facts.backward) {
      close();
    } else if (!is_open_ || facts.user != pass_.line || (facts.creates_grads && has_nodes_)) {
      open(i);
    }
    if (is_open_) {
      pass_.last = i;
      if (op.kind == StepThreadOpKind::kEvaluate) include_sequence(op.sequence);
    }
    if (op.kind != StepThreadOpKind::kOptimizer) continue;
    std::size_t at = 0;
    if (overlap_with_steps(step_thread_, &at, op.start_ns, op.end_ns) == 0) continue;
    ++found_.optimizer_steps;
    if (!found_.passes.empty()) found_.passes.back().before_optimizer = true;
  }
  add_nodes_until(~std::uint64_t{0});
  close();
  return std::move(found_);
}

}  // namespace

std::vector<StackFacts> stack_facts(const StepThread& step_thread) {
  std::vector<StackFacts> facts(step_thread.places.stacks.size());
  for (std::size_t i = 1; i < facts.size(); ++i) {
    const auto& stack = step_thread.places.stacks[i];
    StackFacts& of = facts[i];
    of.user = step_thread.places.user_frame(static_cast<StackRef>(i));
    of.is_innermost = of.user != 0 && stack.front() == of.user;
    for (const FrameId id : stack) {
      const StackFrame& frame = step_thread.places.frames[id];
      if (!frame.file.ends_with("torch/autograd/__init__.py")) continue;
      of.backward = of.backward || frame.name == "backward";
      of.creates_grads = of.creates_grads || frame.name == "_make_grads";
    }
    of.creates_grads = of.creates_grads && of.backward;
  }
  return facts;
}

std::vector<OpRun> find_runs(const StepThread& step_thread, const std::vector<StackFacts>& facts) {
  std::vector<OpRun> runs;
  std::size_t step = 0;
  for (std::size_t i = 0; i < step_thread.ops.size();) {
    const StepThreadOp& first = step_thread.ops[i];
    std::size_t end = i + 1;
    const bool counts = may_repeat(first, facts) &&
                        overlap_with_steps(step_thread, &step, first.start_ns, first.end_ns) != 0;
    if (counts) {
      const std::uint64_t step_end_ns = step_thread.steps[step].end_ns;
      while (end < step_thread.ops.size() && step_thread.ops[end].start_ns < step_end_ns &&
             may_repeat(step_thread.ops[end], facts) &&
             same_work(step_thread, facts, first, step_thread.ops[end]))
        ++end;
    }
    if (counts && end - i >= kMinRunLength)
      runs.push_back(
          {i, end - 1, first.start_ns, step_thread.ops[end - 1].end_ns, facts[first.stack].user});
    i = end;
  }
  return runs;
}

BackwardPasses find_passes(const StepThread& step_thread, const std::vector<StackFacts>& facts) {
  return PassFinder(step_thread, facts).find();
}

std::vector<LineTime> line_times(const StepThread& step_thread,
                                 const std::vector<StackFacts>& facts) {
  using Key = std::tuple<std::string, std::string, int, int>;
  std::map<Key, std::uint64_t> sums;
  const auto add = [&](FrameId from, FrameId to, std::uint64_t ns) {
    const StackFrame& frame = step_thread.places.frames[from];
    if (from != 0)
      sums[{frame.file, frame.name, frame.line, step_thread.places.frames[to].line}] += ns;
  };
  std::size_t step = 0;
  for (const StepThreadOp& op : step_thread.ops) {
    const std::uint64_t ns = overlap_with_steps(step_thread, &step, op.start_ns, op.end_ns);
    const FrameId line = facts[op.stack].user;
    add(line, line, ns - std::min(ns, collective_ns(step_thread, op.start_ns, op.end_ns)));
  }
  for (const HostGap& gap : find_gaps(step_thread)) add(gap.before, gap.after, gap.total_ns);
  std::vector<LineTime> lines;
  for (const auto& [key, ns] : sums)
    lines.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), ns});
  std::sort(lines.begin(), lines.end(),
            [](const LineTime& a, const LineTime& b) { return a.ns > b.ns; });
  return lines;
}

SourceLocation location_of(const StepThread& step_thread, FrameId frame) {
  if (frame == 0) return {};
  const StackFrame& at = step_thread.places.frames[frame];
  return {at.file, at.name, at.line, at.line};
}

}  // namespace gpuprof::report::advice
