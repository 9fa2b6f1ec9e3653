// SPDX-License-Identifier: Apache-2.0
//
// Links between the events of a timeline.
//
// Context:  cli
#include "analysis/report/timeline/link_events.hpp"

#include <algorithm>
#include <map>

namespace gpuprof::report {
namespace {

void sort_host(std::vector<HostEvent>& host) {
  const auto before = [](const HostEvent& a, const HostEvent& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  };
  // Of equal ones the later came last, as an outer one ends last.
  std::reverse(host.begin(), host.end());
  std::stable_sort(host.begin(), host.end(), before);
}

/// Where all times are whole microseconds, begin and length were each rounded: what lies in
/// another may end so much later. Of all others 0.
std::uint64_t clock_granularity(const std::vector<HostEvent>& host) {
  constexpr std::uint64_t kMicrosecond = 1000;
  if (host.empty()) return 0;
  const std::uint64_t rest = host.front().start_ns % kMicrosecond;
  const bool whole = std::all_of(host.begin(), host.end(), [&](const HostEvent& e) {
    return e.start_ns % kMicrosecond == rest && e.end_ns % kMicrosecond == rest;
  });
  return whole ? kMicrosecond : 0;
}

/// As PyTorch's tables do, but for what was rounded: whoever ends later than the one before is not
/// in it.
void find_parents(std::vector<HostEvent>& host) {
  const std::uint64_t rounding = clock_granularity(host);
  std::vector<Index> open;
  for (Index i = 0; i < host.size(); ++i) {
    HostEvent& e = host[i];
    if (i == 0 || host[i - 1].thread != e.thread) open.clear();
    while (!open.empty()) {
      const HostEvent& outer = host[open.back()];
      if (e.start_ns < outer.end_ns && e.end_ns <= outer.end_ns + rounding) break;
      open.pop_back();
    }
    e.parent = open.empty() ? kNoIndex : open.back();
    open.push_back(i);
  }
}

Index step_at(const Timeline& t, std::uint64_t ns) {
  const auto after =
      std::upper_bound(t.steps.begin(), t.steps.end(), ns,
                       [](std::uint64_t at, const model::Step& s) { return at < s.start_ns; });
  if (after == t.steps.begin() || ns >= std::prev(after)->end_ns) return kNoIndex;
  return static_cast<Index>(after - t.steps.begin() - 1);
}

/// Events of a thread come in order of time: the last answer is often the next.
void find_steps(Timeline& t) {
  if (t.steps.empty()) return;
  Index last = 0;
  for (HostEvent& e : t.host) {
    const model::Step& step = t.steps[last];
    const bool same = e.start_ns >= step.start_ns && e.start_ns < step.end_ns;
    e.step = same ? last : step_at(t, e.start_ns);
    if (e.step != kNoIndex) last = e.step;
  }
}

void find_launches(Timeline& t, const Dictionary& d, bool launched_only) {
  FlatHashMap calls;
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    if (e.id != 0) t.host_by_id[e.id] = i;
    if (e.correlation == 0 || d.host[e.key].kind != OperatorKind::kApiCall) continue;
    Index& call = calls[e.correlation];
    // The outer one of two with one number comes first.
    if (call == kNoIndex) call = i;
  }
  for (GpuEvent& g : t.gpu) {
    g.launch = calls.get(g.correlation);
    g.owner = t.host_by_id.get(g.owner_id);
    g.step = g.launch != kNoIndex ? t.host[g.launch].step : step_at(t, g.start_ns);
  }
  if (launched_only) std::erase_if(t.gpu, [](const GpuEvent& g) { return g.launch == kNoIndex; });
  std::stable_sort(t.gpu.begin(), t.gpu.end(),
                   [](const GpuEvent& a, const GpuEvent& b) { return a.start_ns < b.start_ns; });
}

/// Stacks of what has none: of those around it, or of the forward of the node it is in.
void find_stacks(Timeline& t, const Dictionary& d) {
  t.stacks.resize(t.host.size());
  std::map<std::pair<std::int64_t, std::uint32_t>, StackRef> forward;
  std::vector<const SequencedOperator*> by_host;
  const bool any =
      std::any_of(d.host.begin(), d.host.end(), [](const HostKey& k) { return k.stack != 0; });
  if (!any) return;
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    t.stacks[i] = d.host[e.key].stack;
    if (t.stacks[i] == 0 && e.parent != kNoIndex) t.stacks[i] = t.stacks[e.parent];
  }
  for (const SequencedOperator& s : t.sequenced) {
    const Index i = t.host_by_id.get(s.id);
    if (!s.backward && i != kNoIndex && t.stacks[i] != 0)
      forward.emplace(std::pair{s.sequence, s.tid}, t.stacks[i]);
  }
  FlatHashMap of_node;  // stack by host event
  for (const SequencedOperator& s : t.sequenced) {
    const Index i = t.host_by_id.get(s.id);
    if (!s.backward || i == kNoIndex || t.stacks[i] != 0) continue;
    const auto found = forward.find({s.sequence, s.forward_tid});
    if (found != forward.end()) of_node[std::uint64_t{i} + 1] = found->second;
  }
  for (Index i = 0; i < t.host.size(); ++i) {
    if (t.stacks[i] != 0) continue;
    const Index own = of_node.get(std::uint64_t{i} + 1);
    const Index parent = t.host[i].parent;
    if (own != kNoIndex) {
      t.stacks[i] = own;
    } else if (parent != kNoIndex) {
      t.stacks[i] = t.stacks[parent];
    }
  }
}

/// Totals where the records have none.
void derive_allocated_bytes(Timeline& t) {
  struct Level {
    bool reported = false;
    std::int64_t now = 0, lowest = 0;
  };
  std::map<std::int32_t, Level> levels;
  for (const AllocationEvent& a : t.allocations) {
    Level& level = levels[a.device];
    level.reported = level.reported || a.allocated_bytes != 0;
    level.now += a.bytes;
    level.lowest = std::min(level.lowest, level.now);
  }
  for (auto& [device, level] : levels) level.now = -level.lowest;
  for (AllocationEvent& a : t.allocations) {
    Level& level = levels[a.device];
    if (level.reported) continue;
    level.now += a.bytes;
    a.allocated_bytes = static_cast<std::uint64_t>(level.now);
    a.relative = true;
  }
}

/// The innermost operator or range around each allocation on its thread.
void find_owners(Timeline& t, const Dictionary& d) {
  std::stable_sort(t.allocations.begin(), t.allocations.end(),
                   [](const auto& a, const auto& b) { return a.ts_ns < b.ts_ns; });
  derive_allocated_bytes(t);
  std::vector<Index> first(t.threads.size() + 1, 0);
  for (const HostEvent& e : t.host) ++first[e.thread + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<Index> at(first.begin(), first.end() - 1);  // last that began, + 1
  for (AllocationEvent& a : t.allocations) {
    Index& next = at[a.thread];
    while (next < first[a.thread + 1] && t.host[next].start_ns <= a.ts_ns) ++next;
    Index i = next == first[a.thread] ? kNoIndex : next - 1;
    while (i != kNoIndex &&
           (t.host[i].end_ns < a.ts_ns || d.host[t.host[i].key].kind == OperatorKind::kApiCall))
      i = t.host[i].parent;
    a.owner = i;
  }
}

/// Lines, outermost operators and GPU time of host events.
void sum_device_time(Timeline& t, const Dictionary& d) {
  t.lines.assign(t.host.size(), 0);
  t.outer.assign(t.host.size(), kNoIndex);
  t.device_ns.assign(t.host.size(), 0);
  std::vector<FrameId> line_of;  // by stack
  for (StackRef stack = 0; stack < d.places.stacks.size(); ++stack)
    line_of.push_back(d.places.user_frame(stack));
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    t.lines[i] = line_of[t.stacks[i]];
    if (e.parent != kNoIndex) {
      if (t.lines[i] == 0) t.lines[i] = t.lines[e.parent];
      t.outer[i] = t.outer[e.parent];
    }
    if (t.outer[i] == kNoIndex && d.host[e.key].kind == OperatorKind::kOperator) t.outer[i] = i;
  }
  t.gpu_lines.assign(t.gpu.size(), 0);
  for (std::size_t i = 0; i < t.gpu.size(); ++i) {
    const GpuEvent& g = t.gpu[i];
    const Index in = g.owner != kNoIndex ? g.owner : g.launch;
    if (in == kNoIndex) continue;
    t.device_ns[in] += g.length_ns();
    if (g.launch != kNoIndex) t.gpu_lines[i] = t.lines[g.launch];
    if (t.gpu_lines[i] == 0) t.gpu_lines[i] = t.lines[in];
  }
  for (std::size_t i = t.host.size(); i-- > 0;)
    if (t.host[i].parent != kNoIndex) t.device_ns[t.host[i].parent] += t.device_ns[i];
}

}  // namespace

void link_events(Timeline& timeline, Dictionary& dictionary, bool launched_only) {
  sort_host(timeline.host);
  find_parents(timeline.host);
  find_steps(timeline);
  find_launches(timeline, dictionary, launched_only);
  find_stacks(timeline, dictionary);
  find_owners(timeline, dictionary);
  sum_device_time(timeline, dictionary);
}

}  // namespace gpuprof::report
