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

constexpr std::array<std::string_view, 6> kNotTold = {  // by PyTorch's own tables neither
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version"};

// What was open at a window's end lasts as long as one that may be made up: sums stay numbers.
constexpr std::uint64_t kLongest_ns = 1ULL << 54;

}  // namespace

Index Gatherer::key(std::uint32_t name, std::uint32_t a, std::uint32_t b, std::uint32_t kind,
                    const std::function<HostKey()>& make) {
  const auto [at, fresh] = keys_.emplace(Wanted{name, a, b, kind}, 0);
  if (fresh) at->second = d_.host_key(make());
  return at->second;
}

HostEvent& Gatherer::add(std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t tid,
                         Index key) {
  saw(start_ns, end_ns);
  HostEvent& e = t_.host.emplace_back();
  e.start_ns = start_ns;
  e.end_ns = std::max(start_ns, std::min(end_ns, start_ns + kLongest_ns));
  e.thread = thread(tid);
  e.key = key;
  return e;
}

void Gatherer::on(const exporter::ShownStep& s) {
  if (!counts(s.e.start_ns)) return;
  t_.steps.push_back(s.e);
  t_.step_places.emplace_back(s.where);
  add(s.e.start_ns, s.e.end_ns, s.e.tid,
      d_.host_key({d_.texts.id("ProfilerStep*"), d_.texts.id("[]"), 0, 0, OperatorKind::kAnnotation,
                   OpKind::kStep, true}));
}

void Gatherer::python(const PythonInterval& call, Index key) {
  const model::Window& window = shown_.request().window;
  const bool within = call.start_ns < window.end_ns && call.end_ns > window.start_ns;
  if (within && counts(call.start_ns) && room()) add(call.start_ns, call.end_ns, call.tid, key);
}

void Gatherer::on(const exporter::ShownOp& o) {
  if (!counts(o.drawn.start_ns) || !room()) return;
  if (std::find(kNotTold.begin(), kNotTold.end(), o.name) != kNotTold.end()) return;
  const bool annotation = o.e.scope == model::kScopeUser;
  const bool enclosing = o.nesting == Nesting::kEnclosing;
  const Index k =
      key(o.e.name, o.e.inputs, o.e.stack, (annotation ? 1u : 0) | (enclosing ? 2u : 0), [&] {
        return HostKey{text(o.e.name, o.name),
                       shapes(o.e.inputs),
                       0,
                       stack(o.e.stack, o.e.start_ns),
                       annotation ? OperatorKind::kAnnotation : OperatorKind::kOperator,
                       o.kind,
                       enclosing};
      });
  HostEvent& e = add(o.drawn.start_ns, o.drawn.end_ns, o.e.tid, k);
  e.id = o.e.id;
  e.module = module(o.module);
  if (o.kind == OpKind::kCommunication || o.kind == OpKind::kOtherCollective) collective(o);
  if (o.e.sequence >= 0 || o.e.scope == model::kScopeBackward)
    t_.sequenced.push_back(
        {o.e.id, o.e.sequence, o.e.tid, o.e.forward_tid, o.e.scope == model::kScopeBackward});
}

void Gatherer::collective(const exporter::ShownOp& o) {
  const exporter::Survey& survey = shown_.survey();
  const model::InputsId recorded = survey.collectives.inputs_of(o.e.id);
  const CollectiveInputs inputs =
      collective_inputs(survey.inputs.words(recorded != 0 ? recorded : o.e.inputs));
  t_.collectives.push_back(
      {o.e.id, inputs.bytes, d_.texts.id(inputs.dtype), d_.texts.id(inputs.group)});
}

void Gatherer::on(const exporter::ShownRange& r) {
  if (!counts(r.drawn.start_ns) || !room()) return;
  const TextId name = text(r.e.name, r.name);
  const TextId domain = d_.texts.id(r.domain);
  if (r.nesting == Nesting::kApart) {
    if (r.e.kind != model::RangeKind::kMark) saw(r.drawn.start_ns, r.drawn.end_ns);
    t_.ranges.push_back({name, domain, r.drawn.start_ns, r.drawn.end_ns});
    return;
  }
  const bool enclosing = r.nesting == Nesting::kEnclosing;
  const Index k = key(r.e.name, r.e.domain, 0, enclosing ? 5 : 4, [&] {
    return HostKey{name,           d_.texts.id("[]"), domain, 0, OperatorKind::kAnnotation,
                   OpKind::kPlain, enclosing};
  });
  HostEvent& e = add(r.drawn.start_ns, r.drawn.end_ns, r.e.tid, k);
  e.id = r.e.id;
}

void Gatherer::on(const exporter::ShownCall& c) {
  if (!counts(c.e.start_ns) || !room()) return;
  const Index k = key(c.e.name, c.e.stack, c.e.api, 8, [&] {
    HostKey made{text(c.e.name, c.name), d_.texts.id("[]"), 0,    stack(c.e.stack, c.e.start_ns),
                 OperatorKind::kCall,    OpKind::kPlain,    false};
    made.apart = c.e.api == model::kApiWait;
    made.waits = made.apart || is_waiting_call(c.name);
    made.driver = c.e.api == 1;
    return made;
  });
  HostEvent& e = add(c.e.start_ns, c.e.end_ns, c.e.tid, k);
  e.correlation = c.e.correlation;
  e.failed = c.e.result != 0;
  e.nested_call = c.inner;
}

void Gatherer::on(const exporter::ShownOverhead& o) {
  if (!counts(o.e.start_ns) || !room()) return;
  add(o.e.start_ns, o.e.end_ns, o.e.tid,
      d_.host_key({d_.texts.id(o.name), d_.texts.id("[]"), 0, 0, OperatorKind::kOverhead,
                   OpKind::kPlain, false}));
}

void Gatherer::on(const exporter::ShownSample& s) {
  if (!counts(s.e.ts_ns)) return;
  // A stretch of one stack, from a trace file, lasts as long as it weighs.
  saw(s.e.ts_ns, std::min(s.e.ts_ns + s.e.weight_ns, to_ns_));
  const StackRef ref =
      s.e.stack == 0 ? 0 : stacks_.get(s.e.stack, [&] { return stack_of(s.frames); });
  const Index where = thread(s.e.tid);
  const auto [at, fresh] = samples_.emplace(std::uint64_t{where} << 32 | ref, t_.samples.size());
  if (fresh) t_.samples.push_back({where, ref, 0, 0, 0, 0});
  SampleSum& sum = t_.samples[at->second];
  if (s.e.state == 0) {
    ++sum.running;
    sum.cpu_ns += s.e.weight_ns;
  } else {
    ++sum.blocked;
    sum.blocked_ns += s.e.weight_ns;
  }
}

void Gatherer::on(const model::Allocation& a) {
  if (!counts(a.start_ns) || t_.allocations.size() >= Timeline::kMaxEvents) return;
  saw(a.start_ns, a.start_ns);
  t_.allocations.push_back({a.start_ns, a.address, a.bytes, a.total_allocated_bytes,
                            a.total_reserved_bytes, a.device_type == 0 ? -1 : a.device, false,
                            thread(a.tid), kNoIndex});
}

Index Gatherer::module(exporter::ModulePaths::Path path) {
  if (path == 0) return kNoIndex;
  return modules_.get(path, [&] {
    const exporter::Survey& survey = shown_.survey();
    const Index parent = module(survey.modules.parent(path));
    const std::string name = survey.modules.name(path, survey.names);
    const std::string all =
        parent == kNoIndex ? name : d_.texts.text(d_.modules[parent].path) + "." + name;
    return d_.module(d_.texts.id(all), d_.texts.id(name), parent,
                     parent == kNoIndex ? 0 : d_.modules[parent].depth + 1);
  });
}

void Gatherer::on(const exporter::ModuleCall& m) {
  if (!counts(m.start_ns)) return;
  t_.modules.push_back({module(m.path), m.tid, m.start_ns, m.end_ns});
}

}  // namespace gpuprof::report
