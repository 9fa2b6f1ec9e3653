// SPDX-License-Identifier: Apache-2.0
//
// Time between operators: the program's own Python, sleeps, files, whatever is no operator.
//
// Context:  cli
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/report/advice/host_patterns.hpp"

namespace gpuprof::report::advice {
namespace {

/// Shorter gaps are not asked for the samples in them.
constexpr std::uint64_t kSampledGapNs = 20'000;

struct Between {
  FrameId before = 0, after = 0;
  auto operator<=>(const Between&) const = default;
};

/// The program's own frame around both ends of a gap: where the two stacks part in one function
/// (that is the place), or the innermost call both lie in.
Between between(const StackTable& places, std::uint32_t stack_before, std::uint32_t stack_after) {
  const auto& before = places.stacks[stack_before];
  const auto& after = places.stacks[stack_after];
  auto b = before.rbegin(), a = after.rbegin();
  while (b != before.rend() && a != after.rend() && *b == *a) {
    ++b;
    ++a;
  }
  if (b != before.rend() && a != after.rend()) {
    const StackFrame& left = places.frames[*b];
    const StackFrame& right = places.frames[*a];
    if (left.is_user_code && left.file == right.file && left.name == right.name) return {*b, *a};
  }
  while (b != before.rbegin()) {
    --b;
    if (places.frames[*b].is_user_code) return {*b, *b};
  }
  return {};
}

struct Gathered {
  HostGap place;
  std::vector<std::uint32_t> lengths_ns;
  std::map<FrameId, HostGap::LineSamples> hits;
};

class GapFinder {
 public:
  explicit GapFinder(const StepThread& step_thread) : step_thread_(step_thread) {}

  void add(const StepThreadOp& before, const StepThreadOp& after);
  std::vector<HostGap> finish();

 private:
  std::uint64_t left_of(std::uint64_t start_ns, std::uint64_t end_ns);
  void ask_samples(Gathered* gathered, std::uint64_t start_ns, std::uint64_t end_ns);

  const StepThread& step_thread_;
  std::map<Between, Gathered> places_;
  std::unordered_map<std::uint64_t, Between> known_;  // by both stacks
  std::size_t step_ = 0, node_ = 0, wait_ = 0, sample_ = 0;
};

/// What remains of a gap inside of steps, after waits and collectives.
std::uint64_t GapFinder::left_of(std::uint64_t start_ns, std::uint64_t end_ns) {
  std::uint64_t left = overlap_with_steps(step_thread_, &step_, start_ns, end_ns);
  const auto less = [&](std::uint64_t ns) { left -= std::min(left, ns); };
  const auto& waits = step_thread_.waits;
  while (wait_ < waits.size() && waits[wait_].end_ns <= start_ns) ++wait_;
  for (std::size_t i = wait_; i < waits.size() && waits[i].start_ns < end_ns; ++i)
    less(std::min(end_ns, waits[i].end_ns) - std::max(start_ns, waits[i].start_ns));
  less(collective_ns(step_thread_, start_ns, end_ns));
  return left;
}

void GapFinder::ask_samples(Gathered* gathered, std::uint64_t start_ns, std::uint64_t end_ns) {
  const auto& samples = step_thread_.samples;
  while (sample_ < samples.size() && samples[sample_].ts_ns < start_ns) ++sample_;
  for (; sample_ < samples.size() && samples[sample_].ts_ns < end_ns; ++sample_) {
    const FrameId frame = step_thread_.places.user_frame(samples[sample_].stack);
    if (frame == 0) continue;
    HostGap::LineSamples& hit = gathered->hits[frame];
    hit.frame = frame;
    ++(samples[sample_].blocked ? hit.off_cpu : hit.on_cpu);
  }
}

void GapFinder::add(const StepThreadOp& before, const StepThreadOp& after) {
  std::uint64_t start_ns = before.end_ns;
  // The backward pass of another thread: this one waits for it.
  const auto& nodes = step_thread_.backward;
  while (node_ < nodes.size() && nodes[node_].start_ns < after.start_ns) {
    start_ns = std::max(start_ns, std::min(nodes[node_].end_ns, after.start_ns));
    ++node_;
  }
  if (after.start_ns <= start_ns) return;
  const std::uint64_t ns = left_of(start_ns, after.start_ns);
  if (ns == 0) return;
  const std::uint64_t stacks = std::uint64_t{before.stack} << 32 | after.stack;
  auto [known, unseen] = known_.try_emplace(stacks);
  if (unseen) known->second = between(step_thread_.places, before.stack, after.stack);
  Gathered& gathered = places_[known->second];
  HostGap& place = gathered.place;
  ++place.count;
  if (start_ns != before.end_ns) ++place.after_backward;
  place.total_ns += ns;
  if (ns > place.longest_ns) {
    place.longest_ns = ns;
    place.op_before = before.name;
    place.op_after = after.name;
  }
  gathered.lengths_ns.push_back(
      static_cast<std::uint32_t>(std::min<std::uint64_t>(ns, 0xffff'ffffu)));
  if (ns >= kSampledGapNs) ask_samples(&gathered, start_ns, after.start_ns);
}

std::vector<HostGap> GapFinder::finish() {
  std::vector<HostGap> found;
  for (auto& [where, gathered] : places_) {
    HostGap& place = gathered.place;
    place.before = where.before;
    place.after = where.after;
    auto& lengths = gathered.lengths_ns;
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    place.median_ns = *middle;
    for (const auto& [frame, hit] : gathered.hits) place.hits.push_back(hit);
    std::sort(place.hits.begin(), place.hits.end(), [](const auto& a, const auto& b) {
      return a.on_cpu + a.off_cpu > b.on_cpu + b.off_cpu;
    });
    found.push_back(std::move(place));
  }
  std::sort(found.begin(), found.end(),
            [](const HostGap& a, const HostGap& b) { return a.total_ns > b.total_ns; });
  return found;
}

}  // namespace

std::uint64_t collective_ns(const StepThread& step_thread, std::uint64_t start_ns,
                            std::uint64_t end_ns) {
  const auto& talks = step_thread.collectives;
  auto at = std::partition_point(talks.begin(), talks.end(), [&](const CollectiveSpan& talk) {
    return talk.end_ns <= start_ns;
  });
  std::uint64_t sum = 0;
  for (; at != talks.end() && at->start_ns < end_ns; ++at)
    sum += std::min(end_ns, at->end_ns) - std::max(start_ns, at->start_ns);
  return sum;
}

std::vector<HostGap> find_gaps(const StepThread& step_thread) {
  GapFinder finder(step_thread);
  for (std::size_t i = 1; i < step_thread.ops.size(); ++i)
    finder.add(step_thread.ops[i - 1], step_thread.ops[i]);
  return finder.finish();
}

}  // namespace gpuprof::report::advice
