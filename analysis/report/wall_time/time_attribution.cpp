// SPDX-License-Identifier: Apache-2.0
//
// From operators and samples to what ran when.
//
// Context:  cli
#include "analysis/report/wall_time/time_attribution.hpp"

#include <algorithm>

#include "analysis/report/wall_time/host_activity.hpp"

namespace gpuprof::report {
namespace {

using advice::StepThreadOp;
using advice::StepThreadOpKind;
using advice::ThreadSample;

/// Shorter parts are not asked for samples.
constexpr std::uint64_t kSampledOpNs = 2'000'000, kSampledGapNs = 20'000;
/// Another thread that ran Python for so much of a part while the stepping one did not run.
constexpr double kLockShare = 0.5;
constexpr std::uint64_t kLockNs = 5'000'000;
/// Of the operators in steps, how many have the functions around the loop on their stack.
constexpr double kLevelShare = 0.9;
constexpr std::size_t kMaxSampledStacks = 20'000;

using Function = std::pair<std::string, std::string>;
Function function_of(const StackFrame& frame) { return {frame.file, frame.name}; }

template <typename Events>
auto first_ending_after(const Events& events, std::uint64_t ns) {
  return std::partition_point(events.begin(), events.end(),
                              [&](const auto& e) { return e.end_ns <= ns; });
}
template <typename Samples>
auto first_from(const Samples& samples, std::uint64_t ns) {
  return std::partition_point(samples.begin(), samples.end(),
                              [&](const auto& s) { return s.ts_ns < ns; });
}

}  // namespace

TimeAttributor::TimeAttributor(const advice::StepThread& step_thread)
    : step_thread_(step_thread), sources_(step_thread.start_real_ns) {
  lock_seen_ = std::any_of(step_thread.samples.begin(), step_thread.samples.end(),
                           [](const ThreadSample& s) { return s.waits_for_gil; });
  trains_ = !step_thread.backward.empty() ||
            std::any_of(step_thread.ops.begin(), step_thread.ops.end(), [](const StepThreadOp& op) {
              return op.kind == StepThreadOpKind::kEvaluate || op.sequence >= 0;
            });
  find_loop_level();
}

/// The functions, from outside in, that nearly all operators in steps were called in: the last one
/// holds the loop.
void TimeAttributor::find_loop_level() {
  std::vector<std::uint32_t> asked;
  const std::size_t every = step_thread_.ops.size() / kMaxSampledStacks + 1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < step_thread_.ops.size(); i += every) {
    const StepThreadOp& op = step_thread_.ops[i];
    if (op.stack != 0 && overlap_with_steps(step_thread_, &at, op.start_ns, op.end_ns) != 0)
      asked.push_back(op.stack);
  }
  std::map<std::uint32_t, std::size_t> counts;
  for (const std::uint32_t stack : asked) ++counts[stack];
  for (;;) {
    std::map<Function, std::size_t> next;
    for (const auto& [stack, count] : counts) {
      const UserFrames& chain = chains_[of(stack).chain];
      if (chain.size() <= level_.size()) continue;
      bool same = true;
      for (std::size_t d = 0; d < level_.size() && same; ++d)
        same = function_of(step_thread_.places.frames[chain[d].frame]) == level_[d];
      if (same) next[function_of(step_thread_.places.frames[chain[level_.size()].frame])] += count;
    }
    const auto most = std::max_element(
        next.begin(), next.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const bool enough = most != next.end() && static_cast<double>(most->second) >=
                                                  kLevelShare * static_cast<double>(asked.size());
    if (!enough) break;
    level_.push_back(most->first);
  }
  // Chains were made before the level was known.
  homes_.clear();
  for (const UserFrames& chain : chains_) homes_.push_back(loop_index(chain));
}

std::size_t TimeAttributor::loop_index(const UserFrames& chain) const {
  std::size_t depth = 0;
  while (depth < chain.size() && depth < level_.size() &&
         function_of(step_thread_.places.frames[chain[depth].frame]) == level_[depth])
    ++depth;
  return depth == 0 ? 0 : depth - 1;
}

std::uint32_t TimeAttributor::chain_id(UserFrames chain) {
  const auto [at, fresh] =
      chain_ids_.try_emplace(std::move(chain), static_cast<std::uint32_t>(chains_.size()));
  if (fresh && at->first.empty()) return at->second = 0;
  if (fresh) {
    chains_.push_back(at->first);
    homes_.push_back(loop_index(at->first));
  }
  return at->second;
}

LineKey TimeAttributor::loop_line(const TimeShare& bit) const {
  const UserFrames& chain = chains_[bit.chain];
  return chain.empty() ? LineKey{} : chain[homes_[bit.chain]];
}

TimeAttributor::StackInfo TimeAttributor::classify_stack(std::uint32_t stack) {
  StackInfo reported;
  const auto& frames = step_thread_.places.stacks[stack];
  UserFrames chain;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    if (step_thread_.places.frames[*frame].is_user_code) chain.push_back({*frame, 0});
  // Innermost first: what the last one of the program's own called.
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!step_thread_.places.frames[frames[i]].is_user_code) continue;
    reported.callee = i == 0 ? 0 : frames[i - 1];
    break;
  }
  reported.doing = classify_activity(step_thread_.places, frames);
  if (reported.doing == HostActivityKind::kImport)
    reported.callee = imported_module_frame(step_thread_.places, frames);
  reported.chain = chain_id(std::move(chain));
  return reported;
}

const TimeAttributor::StackInfo& TimeAttributor::of(std::uint32_t stack) {
  const auto [at, fresh] = stacks_.try_emplace(stack);
  if (fresh) {
    const StackInfo reported = classify_stack(stack);
    return stacks_[stack] = reported;
  }
  return at->second;
}

/// Where two operators' stacks part in one function, that is the place; else the innermost call
/// both lie in.
std::uint32_t TimeAttributor::gap_chain(std::uint32_t before, std::uint32_t after) {
  const auto [at, fresh] = gaps_.try_emplace(std::uint64_t{before} << 32 | after, 0);
  if (!fresh) return at->second;
  const UserFrames left = chains_[of(before).chain], right = chains_[of(after).chain];
  UserFrames common;
  std::size_t d = 0;
  for (; d < left.size() && d < right.size() && left[d] == right[d]; ++d) common.push_back(left[d]);
  if (d < left.size() && d < right.size() &&
      function_of(step_thread_.places.frames[left[d].frame]) ==
          function_of(step_thread_.places.frames[right[d].frame]))
    common.push_back({left[d].frame, right[d].frame});
  return gaps_[std::uint64_t{before} << 32 | after] = chain_id(std::move(common));
}

FrameId TimeAttributor::line_of_lock_holder(std::uint64_t start_ns, std::uint64_t end_ns) const {
  std::map<FrameId, std::uint64_t> running, blocked;
  for (auto s = first_from(step_thread_.other_thread_samples, start_ns);
       s != step_thread_.other_thread_samples.end() && s->ts_ns < end_ns; ++s) {
    const FrameId line = step_thread_.places.user_frame(s->stack);
    if (line != 0 && !s->waits_for_gil)
      (s->blocked ? blocked : running)[line] += std::max<std::uint64_t>(1, s->weight_ns);
  }
  const auto most = [](const auto& lines) {
    return std::max_element(lines.begin(), lines.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  };
  if (!running.empty()) return most(running);
  // Asleep with the lock in its hands: only if it is the only one.
  return blocked.size() == 1 ? most(blocked) : 0;
}

/// Time in which the thread waits for the interpreter's lock counts for the line of the thread that
/// has it.
bool TimeAttributor::add_lock(Attribution& attribution, std::uint64_t start_ns,
                              std::uint64_t end_ns, bool wanted) {
  const FrameId other = line_of_lock_holder(start_ns, end_ns);
  if (!wanted) {
    if (!lock_seen_ || other == 0 || end_ns - start_ns < kLockNs) return false;
    std::uint64_t ran_ns = 0;
    for (auto s = first_from(step_thread_.other_thread_samples, start_ns);
         s != step_thread_.other_thread_samples.end() && s->ts_ns < end_ns; ++s)
      if (!s->blocked) ran_ns += s->weight_ns;
    if (static_cast<double>(ran_ns) < kLockShare * static_cast<double>(end_ns - start_ns))
      return false;
  }
  TimeShare bit;
  bit.doing = HostActivityKind::kGilWait;
  bit.seen = bit.gap = true;
  bit.ns = bit.weight_ns = end_ns - start_ns;
  if (other != 0) bit.chain = chain_id({{other, 0}});
  attribution.bits.push_back(bit);
  return true;
}

bool TimeAttributor::add_samples(Attribution& attribution, const StepThreadOp* op,
                                 std::uint64_t since_ns, std::uint64_t start_ns,
                                 std::uint64_t end_ns) {
  auto first = first_from(step_thread_.samples, start_ns);
  auto last = first;
  std::uint64_t asleep = 0, wanted = 0;
  for (; last != step_thread_.samples.end() && last->ts_ns < end_ns; ++last)
    ++(last->waits_for_gil ? wanted : asleep);
  if (first == last) {
    // A stretch of one stack that began before, at the same, may reach over most of this.
    if (first == step_thread_.samples.begin()) return false;
    --first;
    if (first->ts_ns < since_ns) return false;
    if (first->ts_ns + first->weight_ns < start_ns + (end_ns - start_ns) / 2) return false;
    ++(first->waits_for_gil ? wanted : asleep);
  }
  if (wanted > asleep && add_lock(attribution, start_ns, end_ns, true)) return true;
  distribute(attribution, op, std::span(first, last), end_ns - start_ns);
  return true;
}

/// Deals `ns` out among samples, by what they weigh.
void TimeAttributor::distribute(Attribution& attribution, const StepThreadOp* op,
                                std::span<const ThreadSample> samples, std::uint64_t ns) {
  double weights = 0;
  const auto weight = [](const ThreadSample& s) {
    return static_cast<double>(std::max<std::uint64_t>(1, s.weight_ns));
  };
  for (const ThreadSample& sample : samples) weights += weight(sample);
  std::uint64_t left = ns;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const StackInfo reported = of(samples[i].stack);
    TimeShare bit;
    bit.chain = reported.chain;
    bit.callee = reported.callee;
    bit.doing = reported.doing;
    bit.seen = true;
    bit.gap = op == nullptr;
    if (op != nullptr) {
      bit.name = op->name;
      bit.ops = i == 0 ? 1 : 0;
      bit.sequenced = has_sequence_number(*op);
      if (bit.doing == HostActivityKind::kUserCode) bit.doing = classify_activity(*op);
    } else if (bit.doing == HostActivityKind::kUserCode && samples[i].blocked) {
      bit.doing = HostActivityKind::kWaiting;
    }
    const auto share =
        static_cast<std::uint64_t>(static_cast<double>(ns) * weight(samples[i]) / weights);
    bit.ns = i + 1 == samples.size() ? left : std::min(left, share);
    left -= bit.ns;
    bit.weight_ns = samples[i].weight_ns;
    attribution.bits.push_back(bit);
  }
}

void TimeAttributor::add_op(Attribution& attribution, std::size_t i, std::uint64_t start_ns,
                            std::uint64_t end_ns) {
  const StepThreadOp& op = step_thread_.ops[i];
  if (end_ns - start_ns >= kSampledOpNs) {
    if (op.wait_ns * 2 < end_ns - start_ns &&
        add_samples(attribution, &op, op.start_ns, start_ns, end_ns))
      return;
    if (op.wait_ns == 0 && add_lock(attribution, start_ns, end_ns, false)) return;
  }
  const StackInfo reported = of(op.stack);
  TimeShare bit;
  bit.chain = reported.chain;
  bit.callee = reported.callee;
  bit.doing = op.wait_ns * 2 >= end_ns - start_ns && op.wait_ns != 0 ? HostActivityKind::kGpuWait
              : reported.doing == HostActivityKind::kUserCode        ? classify_activity(op)
                                                                     : reported.doing;
  bit.name = op.name;
  bit.seen = true;
  bit.sequenced = has_sequence_number(op);
  bit.ns = end_ns - start_ns;
  bit.ops = 1;
  attribution.bits.push_back(bit);
}

void TimeAttributor::add_gap(Attribution& attribution, std::size_t next, std::uint64_t start_ns,
                             std::uint64_t end_ns) {
  if (end_ns - start_ns >= kSampledGapNs) {
    const std::uint64_t since_ns = next == 0 ? 0 : step_thread_.ops[next - 1].end_ns;
    if (add_samples(attribution, nullptr, since_ns, start_ns, end_ns)) return;
    if (add_lock(attribution, start_ns, end_ns, false)) return;
  }
  TimeShare bit;
  bit.gap = true;
  bit.ns = end_ns - start_ns;
  const auto wait = first_ending_after(step_thread_.waits, start_ns);
  if (wait != step_thread_.waits.end() && wait->start_ns < end_ns &&
      2 * (std::min(wait->end_ns, end_ns) - std::max(wait->start_ns, start_ns)) >= bit.ns) {
    const StackInfo& reported = of(wait->stack);
    bit.doing = HostActivityKind::kGpuWait;
    bit.chain = reported.chain;
    bit.name = wait->name;
    bit.seen = true;
  } else if (next != 0 && next < step_thread_.ops.size()) {
    bit.chain = gap_chain(step_thread_.ops[next - 1].stack, step_thread_.ops[next].stack);
    bit.doing = bit.chain == 0 ? HostActivityKind::kUnknown : HostActivityKind::kUserCode;
  }
  attribution.bits.push_back(bit);
}

Attribution TimeAttributor::attribute_interval(std::uint64_t start_ns, std::uint64_t end_ns) {
  Attribution attribution;
  attribution.ns = end_ns - start_ns;
  std::uint64_t at = start_ns;
  auto op = first_ending_after(step_thread_.ops, start_ns);
  for (; op != step_thread_.ops.end() && op->start_ns < end_ns; ++op) {
    const auto i = static_cast<std::size_t>(op - step_thread_.ops.begin());
    if (op->start_ns > at) add_gap(attribution, i, at, op->start_ns);
    const std::uint64_t from = std::max(at, op->start_ns), until = std::min(op->end_ns, end_ns);
    if (until > from) add_op(attribution, i, from, until);
    at = std::max(at, until);
  }
  if (at < end_ns)
    add_gap(attribution, static_cast<std::size_t>(op - step_thread_.ops.begin()), at, end_ns);
  return attribution;
}

}  // namespace gpuprof::report
