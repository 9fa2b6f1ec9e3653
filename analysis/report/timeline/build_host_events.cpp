// SPDX-License-Identifier: Apache-2.0
//
// Steps, operators, ranges, calls, samples and memory of a timeline.
//
// Context:  cli
#include <array>

#include "analysis/report/timeline/timeline_builder.hpp"
#include "recording/model/imported_values.hpp"

namespace gpuprof::report {
namespace {

using exporter::Nesting;
using exporter::OpKind;

constexpr std::array<std::string_view, 6> kNotReported = {  // by PyTorch's own tables neither
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version"};

// What was open at a window's end lasts as long as one that may be made up: sums stay numbers.
constexpr std::uint64_t kMaxLengthNs = 1ULL << 54;

}  // namespace

Index TimelineBuilder::key(std::uint32_t name, std::uint32_t a, std::uint32_t b, std::uint32_t kind,
                           const std::function<HostKey()>& make) {
  const auto [at, fresh] = keys_.emplace(KeyFields{name, a, b, kind}, 0);
  if (fresh) at->second = dictionary_.host_key(make());
  return at->second;
}

HostEvent& TimelineBuilder::add(std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t tid,
                                Index key) {
  extend_bounds(start_ns, end_ns);
  HostEvent& e = timeline_.host.emplace_back();
  e.start_ns = start_ns;
  e.end_ns = std::max(start_ns, std::min(end_ns, start_ns + kMaxLengthNs));
  e.thread = thread(tid);
  e.key = key;
  return e;
}

void TimelineBuilder::on(const exporter::ResolvedStep& s) {
  if (!in_range(s.event.start_ns)) return;
  timeline_.steps.push_back(s.event);
  timeline_.step_places.emplace_back(s.where);
  add(s.event.start_ns, s.event.end_ns, s.event.tid,
      dictionary_.host_key({dictionary_.texts.id("ProfilerStep*"), dictionary_.texts.id("[]"), 0, 0,
                            OperatorKind::kAnnotation, OpKind::kProfilerStep, true}));
}

void TimelineBuilder::python(const PythonInterval& call, Index key) {
  const model::Window& window = shown_.request().window;
  const bool within = call.start_ns < window.end_ns && call.end_ns > window.start_ns;
  if (within && in_range(call.start_ns) && try_add_event())
    add(call.start_ns, call.end_ns, call.tid, key);
}

void TimelineBuilder::on(const exporter::ResolvedOperator& o) {
  if (!in_range(o.interval.start_ns) || !try_add_event()) return;
  if (std::find(kNotReported.begin(), kNotReported.end(), o.name) != kNotReported.end()) return;
  const bool annotation = o.event.scope == model::kScopeUser;
  const bool enclosing = o.nesting == Nesting::kEnclosing;
  const Index k =
      key(o.event.name, o.event.inputs, o.event.stack, (annotation ? 1u : 0) | (enclosing ? 2u : 0),
          [&] {
            return HostKey{text(o.event.name, o.name),
                           shapes(o.event.inputs),
                           0,
                           stack(o.event.stack, o.event.start_ns),
                           annotation ? OperatorKind::kAnnotation : OperatorKind::kOperator,
                           o.kind,
                           enclosing};
          });
  HostEvent& e = add(o.interval.start_ns, o.interval.end_ns, o.event.tid, k);
  e.id = o.event.id;
  e.module = module(o.module);
  if (o.kind == OpKind::kKnownCollective || o.kind == OpKind::kOtherCollective) collective(o);
  if (o.event.sequence >= 0 || o.event.scope == model::kScopeBackward)
    timeline_.sequenced.push_back({o.event.id, o.event.sequence, o.event.tid, o.event.forward_tid,
                                   o.event.scope == model::kScopeBackward});
}

void TimelineBuilder::collective(const exporter::ResolvedOperator& o) {
  const exporter::Prescan& prescan = shown_.prescan();
  const model::InputsId recorded = prescan.collectives.inputs_of(o.event.id);
  const CollectiveInputs inputs =
      collective_inputs(prescan.inputs.words(recorded != 0 ? recorded : o.event.inputs));
  timeline_.collectives.push_back({o.event.id, inputs.bytes, dictionary_.texts.id(inputs.dtype),
                                   dictionary_.texts.id(inputs.group)});
}

void TimelineBuilder::on(const exporter::ResolvedRange& r) {
  if (!in_range(r.interval.start_ns) || !try_add_event()) return;
  const StringRef name = text(r.event.name, r.name);
  const StringRef domain = dictionary_.texts.id(r.domain);
  if (r.nesting == Nesting::kOverlapping) {
    if (r.event.kind != model::RangeKind::kMark)
      extend_bounds(r.interval.start_ns, r.interval.end_ns);
    timeline_.ranges.push_back({name, domain, r.interval.start_ns, r.interval.end_ns});
    return;
  }
  const bool enclosing = r.nesting == Nesting::kEnclosing;
  const Index k = key(r.event.name, r.event.domain, 0, enclosing ? 5 : 4, [&] {
    return HostKey{name,     dictionary_.texts.id("[]"), domain,
                   0,        OperatorKind::kAnnotation,  OpKind::kPlain,
                   enclosing};
  });
  HostEvent& e = add(r.interval.start_ns, r.interval.end_ns, r.event.tid, k);
  e.id = r.event.id;
}

void TimelineBuilder::on(const exporter::ResolvedApiCall& c) {
  if (!in_range(c.event.start_ns) || !try_add_event()) return;
  const Index k = key(c.event.name, c.event.stack, c.event.api, 8, [&] {
    HostKey made{text(c.event.name, c.name),
                 dictionary_.texts.id("[]"),
                 0,
                 stack(c.event.stack, c.event.start_ns),
                 OperatorKind::kApiCall,
                 OpKind::kPlain,
                 false};
    made.is_standalone_sync = c.event.api == model::kApiWait;
    made.waits = made.is_standalone_sync || is_blocking_call(c.name);
    made.driver = c.event.api == 1;
    return made;
  });
  HostEvent& e = add(c.event.start_ns, c.event.end_ns, c.event.tid, k);
  e.correlation = c.event.correlation;
  e.failed = c.event.result != 0;
  e.nested_call = c.nested;
}

void TimelineBuilder::on(const exporter::ResolvedOverhead& o) {
  if (!in_range(o.event.start_ns) || !try_add_event()) return;
  add(o.event.start_ns, o.event.end_ns, o.event.tid,
      dictionary_.host_key({dictionary_.texts.id(o.name), dictionary_.texts.id("[]"), 0, 0,
                            OperatorKind::kOverhead, OpKind::kPlain, false}));
}

void TimelineBuilder::on(const exporter::ResolvedSample& s) {
  if (!in_range(s.event.ts_ns)) return;
  // A stretch of one stack, from a trace file, lasts as long as it weighs.
  extend_bounds(s.event.ts_ns, std::min(s.event.ts_ns + s.event.weight_ns, to_ns_));
  const StackRef ref =
      s.event.stack == 0 ? 0 : stacks_.get(s.event.stack, [&] { return stack_of(s.frames); });
  const Index where = thread(s.event.tid);
  const auto [at, fresh] =
      samples_.emplace(std::uint64_t{where} << 32 | ref, timeline_.samples.size());
  if (fresh) timeline_.samples.push_back({where, ref, 0, 0, 0, 0});
  SampleTotals& sum = timeline_.samples[at->second];
  if (s.event.state == 0) {
    ++sum.on_cpu_samples;
    sum.cpu_ns += s.event.weight_ns;
  } else {
    ++sum.off_cpu_samples;
    sum.off_cpu_ns += s.event.weight_ns;
  }
}

void TimelineBuilder::on(const model::Allocation& a) {
  if (!in_range(a.start_ns) || timeline_.allocations.size() >= Timeline::kMaxEvents) return;
  extend_bounds(a.start_ns, a.start_ns);
  timeline_.allocations.push_back({a.start_ns, a.address, a.bytes, a.total_allocated_bytes,
                                   a.total_reserved_bytes, a.device_type == 0 ? -1 : a.device,
                                   false, thread(a.tid), kNoIndex});
}

Index TimelineBuilder::module(exporter::ModulePaths::Path path) {
  if (path == 0) return kNoIndex;
  return modules_.get(path, [&] {
    const exporter::Prescan& prescan = shown_.prescan();
    const Index parent = module(prescan.modules.parent(path));
    const std::string name = prescan.modules.name(path, prescan.names);
    const std::string all =
        parent == kNoIndex ? name
                           : dictionary_.texts.text(dictionary_.modules[parent].path) + "." + name;
    return dictionary_.module(dictionary_.texts.id(all), dictionary_.texts.id(name), parent,
                              parent == kNoIndex ? 0 : dictionary_.modules[parent].depth + 1);
  });
}

void TimelineBuilder::on(const exporter::ModuleCall& m) {
  if (!in_range(m.start_ns)) return;
  timeline_.modules.push_back({module(m.path), m.tid, m.start_ns, m.end_ns});
}

}  // namespace gpuprof::report
