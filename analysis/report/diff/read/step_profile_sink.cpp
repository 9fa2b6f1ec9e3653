// SPDX-License-Identifier: Apache-2.0
//
// Adds up what a file shows of a process, by name and step: as events come.
//
// Context:  cli
#include "analysis/report/diff/read/step_profile_sink.hpp"

#include <algorithm>
#include <type_traits>

#include "analysis/export/labels/inputs_formatter.hpp"
#include "gpuprof/base/bytes.hpp"

namespace gpuprof::report::diff {
namespace {

using exporter::Interval;

constexpr char kOther[] = "(other)";

template <typename E>
bool is_on_host(const E& event) {
  if constexpr (std::is_same_v<E, model::MemCopy>) return model::is_on_host(event);
  return false;
}

std::uint64_t pair_of(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

/// `float[64,3] [10]`: type and sizes of tensors.
std::string text_of(std::span<const std::uint64_t> words) {
  std::string text;
  exporter::InputView input;
  while (exporter::decode_next_input(words, input)) {
    if (input.form != exporter::InputView::Form::kTensor) continue;
    if (!text.empty()) text += ' ';
    text += exporter::dtype_name(input.dtype);
    text += '[';
    for (std::size_t i = 0; i < input.values.size(); ++i)
      text += (i == 0 ? "" : ",") + std::to_string(static_cast<std::int64_t>(input.values[i]));
    text += ']';
  }
  return text;
}

}  // namespace

void StepProfileSink::begin(exporter::EventResolver& shown, std::uint64_t recorded_ns) {
  shown_ = &shown;
  window_ = {};
  window_.first_step = static_cast<std::uint32_t>(profile_.steps);
  window_.start_ns = shown.prescan().window.start_ns;
  window_.offset_ns = recorded_ns;
  step_tid_ = shown.prescan().main_tid();
  last_step_ = 0;
}

void StepProfileSink::on(const exporter::ResolvedStep& s) {
  // Those of other threads run beside them.
  if (slice_ns_ != 0 || s.event.tid != step_tid_) return;
  window_.steps.emplace_back(s.event.start_ns, s.event.end_ns);
  ++profile_.steps;
  while ((profile_.steps - 1) / profile_.steps_per_cell >= kMaxCells) merge_cells();
  const auto cell = static_cast<std::uint32_t>((profile_.steps - 1) / profile_.steps_per_cell);
  measure(StepMeasure::kLength, cell, static_cast<double>(s.event.end_ns - s.event.start_ns));
}

std::uint32_t StepProfileSink::cell_at(std::uint64_t ns) {
  if (slice_ns_ != 0) {
    const std::uint64_t since = ns < window_.start_ns ? 0 : ns - window_.start_ns;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((window_.offset_ns + since) / slice_ns_, kSliceCount - 1));
  }
  const auto& steps = window_.steps;
  const auto holds = [&](std::size_t i) {
    return i < steps.size() && steps[i].first <= ns && ns < steps[i].second;
  };
  if (!holds(last_step_)) {
    const auto after =
        std::upper_bound(steps.begin(), steps.end(), ns,
                         [](std::uint64_t t, const auto& step) { return t < step.first; });
    if (after == steps.begin()) return kNone;
    last_step_ = static_cast<std::size_t>(after - steps.begin()) - 1;
    if (!holds(last_step_)) return kNone;
  }
  return (window_.first_step + static_cast<std::uint32_t>(last_step_)) / profile_.steps_per_cell;
}

std::uint32_t StepProfileSink::name_index(std::string_view name, NameKind kind) {
  std::string key(1, static_cast<char>(kind));
  key += name;
  if (const auto known = indexes_.find(key); known != indexes_.end()) return known->second;
  if (profile_.names.size() >= kMaxNames && name != kOther) {
    others_.insert(base::hash_bytes(key.data(), key.size()));
    profile_.other_names = others_.size();
    return name_index(kOther, kind);
  }
  const auto index = static_cast<std::uint32_t>(profile_.names.size());
  indexes_.emplace(std::move(key), index);
  profile_.names.push_back({std::string(name), kind, {}, {}, 0});
  return index;
}

StepCell& StepProfileSink::cell_of(std::uint32_t name, std::uint32_t cell) {
  std::vector<StepCell>& cells = profile_.names[name].cells;
  // Events come nearly sorted: what is looked for is at the end.
  auto at = cells.end();
  while (at != cells.begin() && std::prev(at)->index > cell) --at;
  if (at != cells.begin() && std::prev(at)->index == cell) return *std::prev(at);
  return *cells.insert(at, StepCell{cell, 0, 0, 0, 0, 0});
}

void StepProfileSink::measure(StepMeasure measure, std::uint32_t cell, double value) {
  if (cell == kNone) return;
  for (auto& values : profile_.by_cell)
    if (values.size() <= cell) values.resize(cell + 1, 0);
  profile_.by_cell[static_cast<std::size_t>(measure)][cell] += value;
}

/// What calls of a name took, without those inside another one of the same name: these come first.
std::uint64_t StepProfileSink::take_total(std::uint32_t name, std::uint32_t tid,
                                          const Interval& time, std::uint32_t cell) {
  RecentCalls& earlier = enclosable_[pair_of(tid, name)];
  const std::uint64_t generation = generations_[tid];
  if (earlier.generation != generation) earlier.calls.clear();
  earlier.generation = generation;
  while (!earlier.calls.empty() && earlier.calls.back().start_ns >= time.start_ns) {
    const RecentCalls::One& inner = earlier.calls.back();
    if (inner.cell != kNone) cell_of(name, inner.cell).total_ns -= static_cast<float>(inner.ns);
    earlier.calls.pop_back();
  }
  const std::uint64_t ns = time.end_ns - time.start_ns;
  earlier.calls.push_back({time.start_ns, ns, cell});
  return ns;
}

/// Most calls have few names in them; a step may have thousands.
StepProfileSink::PendingApiCall::Child& StepProfileSink::PendingApiCall::child(std::uint32_t name) {
  constexpr std::size_t kFew = 16;
  if (children.size() <= kFew) {
    for (Child& one : children)
      if (one.name == name) return one;
  } else {
    if (places.empty())
      for (std::size_t i = 0; i < children.size(); ++i) places[children[i].name] = i;
    const auto [at, fresh] = places.try_emplace(name, children.size());
    if (!fresh) return children[at->second];
  }
  return children.emplace_back(Child{name, 0, 0});
}

void StepProfileSink::nested(model::RangeId id, model::RangeId parent, std::uint32_t tid,
                             std::uint32_t name, const Interval& time, bool nests) {
  const std::uint64_t ns = time.end_ns > time.start_ns ? time.end_ns - time.start_ns : 0;
  std::uint64_t in_children = 0;
  if (const auto found = inside_.find(id); found != inside_.end()) {
    in_children = found->second.ns;
    for (const PendingApiCall::Child& child : found->second.children) {
      CallEdge& edge = edges_[pair_of(name, child.name)];
      edge.calls += child.calls;
      edge.ns += static_cast<double>(child.ns);
    }
    inside_.erase(found);
  }
  const std::uint32_t cell = cell_at(time.start_ns);
  profile_.names[name].calls += 1;
  const std::uint64_t total = take_total(name, tid, {time.start_ns, time.start_ns + ns}, cell);
  if (cell != kNone) {
    StepCell& sums = cell_of(name, cell);
    sums.calls += 1;
    sums.total_ns += static_cast<float>(total);
    sums.self_ns += static_cast<float>(ns - std::min(ns, in_children));
  }
  if (parent != 0 && nests) {
    PendingApiCall& around = inside_[parent];
    around.ns += ns;
    PendingApiCall::Child& child = around.child(name);
    ++child.calls;
    child.ns += ns;
  } else if (nests) {
    ++generations_[tid];  // nothing that ended so far can be inside what comes
  }
  if (const auto found = launchers_.find(id); found != launchers_.end()) {
    found->second.name = name;
    found->second.cell = cell;
    found->second.parent = parent;
    if (parent != 0) launchers_.try_emplace(parent);
  }
}

void StepProfileSink::on(const exporter::ResolvedOperator& o) {
  if (o.kind == exporter::OpKind::kProfilerStep) return;
  const std::uint32_t name = name_index(o.name, NameKind::kOperator);
  nested(o.event.id, o.parent, o.event.tid, name, o.interval,
         o.nesting == exporter::Nesting::kNests);
  if (o.event.inputs != 0) shapes(name, o.event.inputs);
}

void StepProfileSink::on(const exporter::ResolvedRange& r) {
  if (r.event.kind == model::RangeKind::kMark) return;
  const std::uint32_t name = name_index(r.name, NameKind::kRange);
  nested(r.event.id, r.parent, r.event.tid, name, r.interval,
         r.nesting == exporter::Nesting::kNests);
}

void StepProfileSink::shapes(std::uint32_t name, model::InputsId inputs) {
  std::set<std::string>& known = profile_.names[name].shapes;
  if (known.size() > kMaxShapes) return;
  const auto [at, fresh] = shape_texts_.try_emplace(inputs);
  if (fresh) at->second = text_of(shown_->prescan().inputs.words(inputs));
  if (!at->second.empty()) known.insert(at->second);
}

void StepProfileSink::on(const exporter::ResolvedApiCall& c) {
  if (!c.has_gpu_work) return;
  launch_cells_.try_emplace(c.event.correlation, cell_at(c.event.start_ns));
  if (c.owner != 0) launchers_.try_emplace(c.owner);
}

template <typename E>
void StepProfileSink::gpu(const exporter::ResolvedGpuEvent<E>& gpu, NameKind kind,
                          StepMeasure sum) {
  const std::uint64_t ns =
      gpu.event.end_ns > gpu.event.start_ns ? gpu.event.end_ns - gpu.event.start_ns : 0;
  if (!is_on_host(gpu.event)) busy_.emplace_back(gpu.event.start_ns, gpu.event.start_ns + ns);
  const std::uint32_t name = name_index(gpu.name, kind);
  if (gpu.owner != 0) launchers_[gpu.owner].ns += static_cast<double>(ns);
  const PendingGpuWork event{gpu.event.correlation, name, static_cast<std::uint32_t>(sum), ns};
  if (gpu.has_launch && !launch_cells_.contains(event.correlation)) {
    unsettled_.push_back(event);
  } else {
    add_gpu_work(event,
                 gpu.has_launch ? launch_cells_[event.correlation] : cell_at(gpu.event.start_ns));
  }
}

void StepProfileSink::on(const exporter::ResolvedGpuEvent<model::Kernel>& k) {
  gpu(k, NameKind::kKernel, StepMeasure::kKernel);
}
void StepProfileSink::on(const exporter::ResolvedGpuEvent<model::MemCopy>& c) {
  gpu(c, NameKind::kCopy, StepMeasure::kCopy);
}
void StepProfileSink::on(const exporter::ResolvedGpuEvent<model::MemSet>& s) {
  gpu(s, NameKind::kCopy, StepMeasure::kCopy);
}
void StepProfileSink::on(const exporter::ResolvedGpuEvent<model::GraphExec>& g) {
  gpu(g, NameKind::kKernel, StepMeasure::kKernel);
}

void StepProfileSink::on(const exporter::ResolvedSync& s) {
  if (s.event.end_ns > s.event.start_ns)
    measure(StepMeasure::kWait, cell_at(s.event.start_ns),
            static_cast<double>(s.event.end_ns - s.event.start_ns));
}

void StepProfileSink::on(const model::Allocation& a) {
  DeviceMemoryProfile& memory = profile_.memory[a.device_type == 0 ? -1 : a.device];
  memory.peak_allocated_bytes = std::max(memory.peak_allocated_bytes, a.total_allocated_bytes);
  memory.peak_reserved_bytes = std::max(memory.peak_reserved_bytes, a.total_reserved_bytes);
  if (a.bytes > 0) {
    ++memory.allocations;
    memory.allocated_bytes += static_cast<std::uint64_t>(a.bytes);
  }
  const std::uint32_t cell = cell_at(a.start_ns);
  if (cell == kNone) return;
  std::uint64_t& peak = memory.peak_by_cell[cell];
  peak = std::max(peak, a.total_allocated_bytes);
}

}  // namespace gpuprof::report::diff
