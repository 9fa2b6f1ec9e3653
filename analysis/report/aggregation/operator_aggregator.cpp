// SPDX-License-Identifier: Apache-2.0
//
// Operators as torch's key_averages() counts them.
//
// Context:  cli
#include "analysis/report/aggregation/operator_aggregator.hpp"
#include "analysis/report/timeline/self_time.hpp"

#include <algorithm>

namespace gpuprof::report {
namespace {

constexpr std::size_t kMaxStepValues = 4u << 20;

}  // namespace

/// Bytes taken and given back until each allocation, to add up any interval of time.
struct MemoryPrefixSums {
  std::vector<std::uint64_t> ts_ns;
  std::vector<std::int64_t> cpu{0}, device{0};
  std::vector<std::int32_t> covered;  // + where an interval begins, - where it ended

  explicit MemoryPrefixSums(const Timeline& t) {
    if (t.allocations.empty()) return;
    for (const AllocationEvent& a : t.allocations) {
      ts_ns.push_back(a.ts_ns);
      cpu.push_back(cpu.back() + (a.device < 0 ? a.bytes : 0));
      device.push_back(device.back() + (a.device < 0 ? 0 : a.bytes));
    }
    covered.assign(ts_ns.size() + 1, 0);
  }
};

/// By host event.
struct OperatorAggregator::Costs {
  std::vector<Index> parent;  // kRemoved: counted with its parent
  std::vector<std::int64_t> self_ns, device_ns, own_device_ns;
  std::vector<std::int64_t> cpu_bytes, device_bytes, self_cpu_bytes, self_device_bytes;
  MemoryPrefixSums memory;

  explicit Costs(const Timeline& t) : memory(t) {}
  bool removed(Index i) const { return redirect[i] != i; }
  std::vector<Index> redirect;  // itself, or whom it is counted with
};

namespace {

/// An operator that only calls another of its name is one with it.
template <typename Costs>
void join_equal(const Timeline& t, const Dictionary& d, Costs& c) {
  const std::size_t count = t.host.size();
  std::vector<std::uint32_t> children(count, 0);
  for (const HostEvent& e : t.host)
    if (e.parent != kNoIndex) ++children[e.parent];
  c.parent.resize(count);
  c.redirect.resize(count);
  for (Index i = 0; i < count; ++i) {
    const HostEvent& e = t.host[i];
    c.redirect[i] = i;
    c.parent[i] = e.parent == kNoIndex ? kNoIndex : c.redirect[e.parent];
    const Index p = c.parent[i];
    if (p == kNoIndex || children[p] != 1) continue;
    if (d.host[t.host[p].key].name != d.host[e.key].name) continue;
    c.redirect[i] = p;
    children[p] = children[i];
    c.own_device_ns[p] += c.own_device_ns[i];
    c.own_device_ns[i] = 0;
  }
}

template <typename Costs>
void sum_memory(const Timeline& t, Costs& c) {
  const std::vector<std::uint64_t>& ts = c.memory.ts_ns;
  const std::size_t count = t.host.size();
  if (ts.empty()) return;
  c.cpu_bytes.resize(count);
  c.device_bytes.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const HostEvent& e = t.host[i];
    const auto from =
        static_cast<std::size_t>(std::lower_bound(ts.begin(), ts.end(), e.start_ns) - ts.begin());
    std::size_t to = from;
    // Most hold few or none.
    while (to < ts.size() && to < from + 8 && ts[to] <= e.end_ns) ++to;
    if (to == from + 8)
      to = static_cast<std::size_t>(std::upper_bound(ts.begin(), ts.end(), e.end_ns) - ts.begin());
    c.cpu_bytes[i] = c.memory.cpu[to] - c.memory.cpu[from];
    c.device_bytes[i] = c.memory.device[to] - c.memory.device[from];
    ++c.memory.covered[from];
    --c.memory.covered[to];
  }
}

/// Own time is what no child covers: children that overlap cover it once.
template <typename Costs>
void subtract_children(const Timeline& t, Costs& c) {
  const std::size_t count = t.host.size();
  c.self_ns.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    c.self_ns[i] = static_cast<std::int64_t>(t.host[i].length_ns());
  c.device_ns = c.own_device_ns;
  c.self_cpu_bytes = c.cpu_bytes;
  c.self_device_bytes = c.device_bytes;
  std::vector<std::uint64_t> until(count, 0);  // what of each its children have covered
  for (Index i = 0; i < count; ++i) {
    const Index p = c.parent[i];
    if (p != kNoIndex && !c.removed(i))
      c.self_ns[p] -= newly_covered_ns(t.host[i], t.host[p], until[p]);
  }
  for (std::size_t n = count; n-- > 0;) {  // children before parents
    const auto i = static_cast<Index>(n);
    const Index p = c.parent[i];
    if (p == kNoIndex || c.removed(i)) continue;
    c.device_ns[p] += c.device_ns[i];
    if (c.cpu_bytes.empty()) continue;
    c.self_cpu_bytes[p] -= c.cpu_bytes[i];
    c.self_device_bytes[p] -= c.device_bytes[i];
  }
}

/// Stacks as those tables know them: of backward operators that of the forward or none.
std::vector<StackRef> table_stacks(const Timeline& t) {
  std::vector<StackRef> stacks = t.stacks;
  FlatHashMap sequenced;  // by host event + 1
  for (Index n = 0; n < t.sequenced.size(); ++n) {
    const Index i = t.host_by_id.get(t.sequenced[n].id);
    if (i != kNoIndex) sequenced[std::uint64_t{i} + 1] = n;
  }
  std::vector<Index> node(t.host.size(), kNoIndex);  // innermost backward one around each
  std::map<std::pair<std::int64_t, std::uint32_t>, StackRef> forward;
  for (Index i = 0; i < t.host.size(); ++i) {
    const Index n = sequenced.get(std::uint64_t{i} + 1);
    const Index parent = t.host[i].parent;
    if (n != kNoIndex && t.sequenced[n].backward) {
      node[i] = n;
    } else if (parent != kNoIndex) {
      node[i] = node[parent];
    }
    if (node[i] == kNoIndex && n != kNoIndex)
      forward.emplace(std::pair{t.sequenced[n].sequence, t.sequenced[n].tid}, stacks[i]);
  }
  for (Index i = 0; i < t.host.size(); ++i) {
    if (node[i] == kNoIndex) continue;
    const SequencedOperator& s = t.sequenced[node[i]];
    const auto found = forward.find({s.sequence, s.forward_tid});
    stacks[i] = found == forward.end() ? 0 : found->second;
  }
  return stacks;
}

}  // namespace

OperatorRow& OperatorAggregator::row(StringRef name, StringRef shapes, StackRef stack,
                                     OperatorKind kind, std::uint64_t start_ns) {
  const std::uint64_t hash =
      ((std::uint64_t{name} << 32 | shapes) * 0x9e3779b97f4a7c15ULL ^ stack) * 16 +
      static_cast<std::uint64_t>(kind);
  std::vector<Index>& rows = index_[hash];
  for (const Index i : rows) {
    OperatorRow& known = all_.rows[i];
    if (keys_[i] != std::array{name, shapes, stack} || known.kind != kind) continue;
    known.order = std::min(known.order, start_ns);
    return known;
  }
  rows.push_back(static_cast<Index>(all_.rows.size()));
  keys_.push_back({name, shapes, stack});
  const auto [at, fresh] =
      by_name_.emplace(std::pair{name, kind}, static_cast<Index>(by_step_.size()));
  if (fresh) by_step_.push_back({name, kind, {}, {}});
  steps_of_.push_back(at->second);
  OperatorRow& made = all_.rows.emplace_back();
  made.name = d_.texts.text(name);
  made.shapes = d_.texts.text(shapes);
  made.stack = stack;
  made.kind = kind;
  made.order = start_ns;
  return made;
}

void OperatorAggregator::in_step(std::size_t row, Index step, std::int64_t cpu_ns,
                                 std::int64_t device_ns) {
  if (step == kNoIndex || steps_ * by_step_.size() > kMaxStepValues) return;
  StepTimes& of = by_step_[steps_of_[row]];
  if (of.cpu.size() < steps_) {
    of.cpu.resize(steps_);
    of.device.resize(steps_);
  }
  of.cpu[steps_before_ + step] += static_cast<float>(cpu_ns);
  of.device[steps_before_ + step] += static_cast<float>(device_ns);
}

void OperatorAggregator::host_rows(const Timeline& t, const Costs& c) {
  const bool any_stack =
      std::any_of(t.stacks.begin(), t.stacks.end(), [](StackRef stack) { return stack != 0; });
  const std::vector<StackRef> stacks = any_stack ? table_stacks(t) : std::vector<StackRef>();
  // Rows of keys with the stack last seen: most events have that of the one before.
  std::vector<std::pair<StackRef, Index>> last(d_.host.size(), {0, kNoIndex});
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostEvent& e = t.host[i];
    if (c.removed(i) || d_.host[e.key].kind == OperatorKind::kPythonCall) continue;
    const StackRef stack = any_stack ? stacks[i] : 0;
    auto& [last_stack, at] = last[e.key];
    if (at == kNoIndex || last_stack != stack) {
      const HostKey& key = d_.host[e.key];
      at = static_cast<Index>(&row(key.name, key.shapes, stack, key.kind, e.start_ns) -
                              all_.rows.data());
      last_stack = stack;
    }
    OperatorRow& r = all_.rows[at];
    r.order = std::min(r.order, e.start_ns);
    ++r.count;
    r.cpu_ns += static_cast<std::int64_t>(e.length_ns());
    r.self_cpu_ns += c.self_ns[i];
    r.device_ns += c.device_ns[i];
    r.self_device_ns += c.own_device_ns[i];
    if (!c.cpu_bytes.empty()) {
      r.cpu_bytes += c.cpu_bytes[i];
      r.self_cpu_bytes += c.self_cpu_bytes[i];
      r.device_bytes += c.device_bytes[i];
      r.self_device_bytes += c.self_device_bytes[i];
    }
    in_step(at, e.step, c.self_ns[i], c.own_device_ns[i]);
  }
}

void OperatorAggregator::gpu_rows(const Timeline& t) {
  const StringRef none = d_.texts.id("[]");
  std::vector<Index> at(d_.gpu.size(), kNoIndex);
  for (const GpuEvent& g : t.gpu) {
    const GpuKey& key = d_.gpu[g.key];
    Index& i = at[g.key];
    if (i == kNoIndex)
      i = static_cast<Index>(&row(key.name, none, 0, OperatorKind::kGpuWork, g.start_ns) -
                             all_.rows.data());
    OperatorRow& r = all_.rows[i];
    const auto length = static_cast<std::int64_t>(g.length_ns());
    ++r.count;
    r.device_ns += length;
    r.self_device_ns += length;
    in_step(i, g.step, 0, length);
  }
}

/// As PyTorch's profiler draws its own ranges on the GPU: around what was launched in them, each
/// stream by itself, a nanosecond more at both ends.
void OperatorAggregator::annotation_rows(const Timeline& t) {
  std::vector<Index> annotation(t.host.size(), kNoIndex);
  for (Index i = 0; i < t.host.size(); ++i) {
    const HostKey& key = d_.host[t.host[i].key];
    const bool own = key.kind == OperatorKind::kAnnotation && key.domain == 0;
    const Index parent = t.host[i].parent;
    annotation[i] = own ? i : parent == kNoIndex ? kNoIndex : annotation[parent];
  }
  std::map<std::array<std::uint64_t, 3>, exporter::Interval> drawn;
  for (const GpuEvent& g : t.gpu) {
    const Index i = g.launch != kNoIndex ? g.launch : g.owner;
    if (i == kNoIndex || annotation[i] == kNoIndex) continue;
    const auto [at, fresh] = drawn.try_emplace({annotation[i], d_.gpu[g.key].device, g.stream},
                                               exporter::Interval{g.start_ns, g.end_ns});
    at->second.start_ns = std::min(at->second.start_ns, g.start_ns);
    at->second.end_ns = std::max(at->second.end_ns, g.end_ns);
  }
  for (const auto& [of, range] : drawn) {
    const HostEvent& e = t.host[of[0]];
    OperatorRow& r = row(d_.host[e.key].name, d_.texts.id("[]"), 0, OperatorKind::kGpuAnnotation,
                         range.start_ns - 1);
    const auto length = static_cast<std::int64_t>(range.end_ns - range.start_ns + 2);
    ++r.count;
    r.device_ns += length;
    r.self_device_ns += length;
  }
}

/// What was allocated while nothing was recorded.
void OperatorAggregator::memory_rows(const Timeline& t, const Costs& c) {
  std::int64_t depth = 0;
  for (std::size_t i = 0; i < t.allocations.size(); ++i) {
    depth += c.memory.covered[i];
    if (depth != 0) continue;
    const AllocationEvent& a = t.allocations[i];
    OperatorRow& r =
        row(d_.texts.id("[memory]"), d_.texts.id("[]"), 0, OperatorKind::kMemory, a.ts_ns);
    ++r.count;
    (a.device < 0 ? r.cpu_bytes : r.device_bytes) += a.bytes;
    (a.device < 0 ? r.self_cpu_bytes : r.self_device_bytes) += a.bytes;
  }
}

void OperatorAggregator::add(const Timeline& t) {
  steps_before_ = steps_;
  steps_ += t.steps.size();
  Costs costs(t);
  costs.own_device_ns.assign(t.host.size(), 0);
  for (const GpuEvent& g : t.gpu)
    if (g.owner != kNoIndex)
      costs.own_device_ns[g.owner] += static_cast<std::int64_t>(g.length_ns());
  join_equal(t, d_, costs);
  sum_memory(t, costs);
  subtract_children(t, costs);
  host_rows(t, costs);
  gpu_rows(t);
  annotation_rows(t);
  memory_rows(t, costs);
  all_.has_memory = all_.has_memory || !t.allocations.empty();
}

Operators OperatorAggregator::take() {
  for (const OperatorRow& r : all_.rows) {
    all_.self_cpu_ns += r.self_cpu_ns;
    if (r.kind == OperatorKind::kGpuWork) all_.self_device_ns += r.self_device_ns;
    all_.has_shapes = all_.has_shapes || r.shapes != "[]";
    all_.has_stacks = all_.has_stacks || r.stack != 0;
  }
  for (StepTimes& of : by_step_) {
    if (of.cpu.empty()) continue;
    of.cpu.resize(steps_);
    of.device.resize(steps_);
    all_.by_step.push_back(
        {d_.texts.text(of.name), of.kind, std::move(of.cpu), std::move(of.device)});
  }
  std::stable_sort(all_.rows.begin(), all_.rows.end(),
                   [](const auto& a, const auto& b) { return a.order < b.order; });
  return std::move(all_);
}

namespace {

/// Frames those tables do not show.
bool is_hidden_frame(std::string_view frame) {
  const auto has = [&](std::string_view part) { return frame.find(part) != frame.npos; };
  return (has("autograd/__init__") && (has("_make_grads") || has("backward"))) ||
         (has("torch/tensor") && has("backward"));
}

/// Stacks of which the innermost frames count.
class StackTruncator {
 public:
  StackTruncator(StackTable& places, std::uint32_t frames) : places_(places), frames_(frames) {}

  StackRef of(StackRef stack) {
    if (frames_ == 0 || stack == 0) return 0;
    const auto [at, fresh] = known_.emplace(stack, 0);
    if (!fresh) return at->second;
    std::vector<FrameId> cut = places_.stacks[stack];
    std::erase_if(cut, [&](FrameId frame) { return is_hidden_frame(places_.frames[frame].text); });
    if (cut.size() > frames_) cut.resize(frames_);
    const auto [same, added] = made_.emplace(cut, static_cast<StackRef>(places_.stacks.size()));
    if (added) places_.stacks.push_back(std::move(cut));
    return at->second = same->second;
  }

 private:
  StackTable& places_;
  std::uint32_t frames_;
  std::unordered_map<StackRef, StackRef> known_;
  std::map<std::vector<FrameId>, StackRef> made_;
};

}  // namespace

std::vector<OperatorRow> group(const std::vector<OperatorRow>& rows, const Grouping& grouping,
                               StackTable& places) {
  std::vector<OperatorRow> groups;
  StackTruncator cut(places, grouping.by_stack);
  std::unordered_map<std::string, std::vector<std::size_t>> index;  // by name
  for (const OperatorRow& r : rows) {
    OperatorRow key = r;
    if (!grouping.by_shape) key.shapes.clear();
    key.stack = cut.of(r.stack);
    std::vector<std::size_t>& named = index[key.name];
    const auto same = std::find_if(named.begin(), named.end(), [&](std::size_t i) {
      const OperatorRow& g = groups[i];
      return g.kind == key.kind && g.stack == key.stack && g.shapes == key.shapes;
    });
    if (same == named.end()) {
      named.push_back(groups.size());
      groups.push_back(std::move(key));
      continue;
    }
    OperatorRow& g = groups[*same];
    g.count += r.count;
    g.self_cpu_ns += r.self_cpu_ns;
    g.cpu_ns += r.cpu_ns;
    g.self_device_ns += r.self_device_ns;
    g.device_ns += r.device_ns;
    g.self_cpu_bytes += r.self_cpu_bytes;
    g.cpu_bytes += r.cpu_bytes;
    g.self_device_bytes += r.self_device_bytes;
    g.device_bytes += r.device_bytes;
  }
  return groups;
}

}  // namespace gpuprof::report
