// SPDX-License-Identifier: Apache-2.0
//
// From shown events to a timeline.
//
// Context:  cli
#include "daemon/report/timeline.hpp"

#include <algorithm>

#include "daemon/export/shown/occupancy.hpp"
#include "daemon/report/links.hpp"
#include "daemon/report/shapes_text.hpp"
#include "daemon/report/tee.hpp"
#include "daemon/symbols/display.hpp"

namespace gpuprof::report {
namespace {

using exporter::Nesting;
using exporter::OpKind;

constexpr std::uint8_t kPageableMemory = 1;             // CUpti_ActivityMemoryKind
constexpr std::array<std::string_view, 6> kNotTold = {  // by PyTorch's own tables neither
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version"};

/// Numbers of one window's ids, found once each.
class IdCache {
 public:
  template <typename Make>
  std::uint32_t get(std::uint32_t id, const Make& make) {
    if (id >= values_.size())
      values_.resize(std::max<std::size_t>(id + 1, values_.size() * 2), ~0u);
    if (values_[id] == ~0u) {
      const std::uint32_t made = make();
      values_[id] = made;
    }
    return values_[id];
  }

 private:
  std::vector<std::uint32_t> values_;
};

class Gatherer final : public exporter::ShownSink {
 public:
  Gatherer(exporter::Shown& shown, const AnalysisOptions& options, Dictionary& dictionary,
           Timeline& timeline)
      : shown_(shown), options_(options), d_(dictionary), t_(timeline) {
    const exporter::Survey& survey = shown.survey();
    if (!options.steps) return;
    from_ns_ = to_ns_ = 0;
    for (const model::Step& step : survey.steps) {
      if (step.label < options.steps->first || step.label > options.steps->last) continue;
      if (to_ns_ == 0) from_ns_ = step.start_ns;
      to_ns_ = std::max(to_ns_, step.end_ns);
    }
  }

  using ShownSink::on;
  void python(const PythonInterval& call, Index key);
  void on(const exporter::ShownStep& s) override;
  void on(const exporter::ShownOp& o) override;
  void on(const exporter::ShownRange& r) override;
  void on(const exporter::ShownCall& c) override;
  void on(const exporter::ShownGpu<model::Kernel>& k) override;
  void on(const exporter::ShownGpu<model::MemCopy>& c) override;
  void on(const exporter::ShownGpu<model::MemSet>& s) override;
  void on(const exporter::ShownGpu<model::GraphExec>& g) override;
  void on(const exporter::ShownSync& s) override { t_.syncs += counts(s.e.start_ns) ? 1 : 0; }
  void on(const exporter::ShownOverhead& o) override;
  void on(const exporter::ShownSample& s) override;
  void on(const model::Allocation& a) override;
  void on(const exporter::ModuleCall& m) override;

 private:
  bool counts(std::uint64_t start_ns) const { return start_ns >= from_ns_ && start_ns < to_ns_; }
  bool room() {
    if (t_.host.size() + t_.gpu.size() < Timeline::kMaxEvents) return true;
    ++t_.left_out;
    return false;
  }
  void saw(std::uint64_t start_ns, std::uint64_t end_ns) {
    t_.first_ns = std::min(t_.first_ns, start_ns);
    t_.last_ns = std::max(t_.last_ns, end_ns);
  }
  TextId text(model::StringId id, std::string_view name) {
    return texts_.get(id, [&] { return d_.texts.id(name); });
  }
  TextId shapes(model::InputsId id) {
    return shapes_.get(id,
                       [&] { return d_.texts.id(shapes_text(shown_.survey().inputs.words(id))); });
  }
  StackRef stack(model::StackId id, std::uint64_t ts_ns) {
    if (id == 0) return 0;
    return stacks_.get(id, [&] { return stack_of(shown_.stacks().frames(id, ts_ns)); });
  }
  template <typename Frames>
  StackRef stack_of(const Frames& frames) {
    std::vector<FrameId> ids;
    for (const exporter::StackText::Frame frame : frames)
      ids.push_back(frames_.get(frame, [&] {
        return d_.frame(std::string(shown_.stacks().name(frame)), shown_.stacks().place(frame));
      }));
    return d_.stack(ids);
  }
  Index thread(std::uint32_t tid) {
    if (tid == last_tid_ && !t_.threads.empty()) return last_thread_;
    last_tid_ = tid;
    const auto [at, fresh] = threads_.emplace(tid, static_cast<Index>(t_.threads.size()));
    if (fresh) t_.threads.push_back(tid);
    return last_thread_ = at->second;
  }
  Index module(exporter::ModulePaths::Path path);
  void collective(const exporter::ShownOp& o);
  Index key(std::uint32_t name, std::uint32_t a, std::uint32_t b, std::uint32_t kind,
            const std::function<HostKey()>& make);
  HostEvent& add(std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t tid, Index key);
  template <typename E>
  void add_gpu(const exporter::ShownGpu<E>& g, Index key, std::uint64_t bytes);

  exporter::Shown& shown_;
  const AnalysisOptions& options_;
  Dictionary& d_;
  Timeline& t_;
  std::uint64_t from_ns_ = 0, to_ns_ = ~0ULL;
  IdCache texts_, shapes_, stacks_, frames_, modules_;
  std::unordered_map<std::uint32_t, Index> threads_;
  std::uint32_t last_tid_ = 0;
  Index last_thread_ = 0;
  struct Wanted {
    std::uint32_t name, a, b, kind;
    bool operator==(const Wanted&) const = default;
  };
  struct HashWanted {
    std::size_t operator()(const Wanted& w) const {
      std::uint64_t h = (std::uint64_t{w.name} << 32 | w.a) * 0x9e3779b97f4a7c15ULL;
      return (h ^ (std::uint64_t{w.b} << 8 | w.kind)) * 0xc2b2ae3d27d4eb4fULL >> 7;
    }
  };
  std::unordered_map<Wanted, Index, HashWanted> keys_;
  struct KernelOf {
    model::Kernel like;
    Index key;
  };
  std::unordered_map<std::uint32_t, std::vector<KernelOf>> kernels_;  // by name
  std::unordered_map<std::uint32_t, Index> copies_;                   // by kinds and device
  std::unordered_map<std::uint64_t, std::size_t> samples_;
};

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
  e.end_ns = std::max(start_ns, end_ns);
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
    made.waits = is_waiting_call(c.name);
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

template <typename E>
void Gatherer::add_gpu(const exporter::ShownGpu<E>& g, Index key, std::uint64_t bytes) {
  // Limited to steps, it counts where it was launched: links.cpp leaves out what was not.
  saw(g.e.start_ns, g.e.end_ns);
  GpuEvent& e = t_.gpu.emplace_back();
  e.start_ns = g.e.start_ns;
  e.end_ns = std::max(g.e.start_ns, g.e.end_ns);
  e.owner_id = g.owner;
  e.bytes = bytes;
  e.key = key;
  e.correlation = g.launched ? g.e.correlation : 0;
  e.stream = g.e.stream;
}

void Gatherer::on(const exporter::ShownGpu<model::Kernel>& k) {
  if (!room()) return;
  std::vector<KernelOf>& known = kernels_[k.e.name];
  const auto same = [&](const KernelOf& o) {
    return o.like.grid == k.e.grid && o.like.block == k.e.block &&
           o.like.registers == k.e.registers &&
           o.like.static_shared_bytes == k.e.static_shared_bytes &&
           o.like.dynamic_shared_bytes == k.e.dynamic_shared_bytes && o.like.device == k.device;
  };
  auto at = std::find_if(known.begin(), known.end(), same);
  if (at == known.end()) {
    GpuKey made;
    made.name = d_.texts.id(k.name);
    made.device = k.device;
    made.grid = k.e.grid;
    made.block = k.e.block;
    made.registers = k.e.registers;
    made.shared_bytes = k.e.static_shared_bytes + k.e.dynamic_shared_bytes;
    made.tensor_core = uses_tensor_cores(k.name);
    made.nccl = k.name.starts_with("ncclKernel") || k.name.starts_with("ncclDevKernel");
    const auto& devices = shown_.survey().devices;
    if (const auto device = devices.find(k.device); device != devices.end()) {
      const exporter::Occupancy o = exporter::occupancy(device->second, k.e);
      made.blocks_per_sm = o.blocks_per_sm;
      made.occupancy_percent = o.percent;
    }
    KernelOf one{k.e, d_.gpu_key(made)};
    one.like.device = k.device;
    at = known.insert(known.end(), one);
  }
  add_gpu(k, at->key, 0);
}

void Gatherer::on(const exporter::ShownGpu<model::MemCopy>& c) {
  if (!room()) return;
  const std::uint32_t kinds = std::uint32_t{c.e.copy_kind} << 24 |
                              std::uint32_t{c.e.src_kind} << 18 |
                              std::uint32_t{c.e.dst_kind} << 12 | (c.device & 0xfff);
  const auto [at, fresh] = copies_.emplace(kinds, 0);
  if (fresh) {
    GpuKey made;
    made.name = d_.texts.id(c.name);
    made.kind = GpuKind::kCopy;
    made.device = c.device;
    made.pageable = c.e.src_kind == kPageableMemory || c.e.dst_kind == kPageableMemory;
    at->second = d_.gpu_key(made);
  }
  add_gpu(c, at->second, c.e.bytes);
}

void Gatherer::on(const exporter::ShownGpu<model::MemSet>& s) {
  if (!room()) return;
  GpuKey made;
  made.name = d_.texts.id(s.name);
  made.kind = GpuKind::kSet;
  made.device = s.device;
  add_gpu(s, d_.gpu_key(made), s.e.bytes);
}

void Gatherer::on(const exporter::ShownGpu<model::GraphExec>& g) {
  if (!room()) return;
  GpuKey made;
  made.name = d_.texts.id(g.name);
  made.kind = GpuKind::kGraph;
  made.device = g.device;
  add_gpu(g, d_.gpu_key(made), 0);
}

void Gatherer::on(const exporter::ShownSample& s) {
  if (!counts(s.e.ts_ns)) return;
  saw(s.e.ts_ns, s.e.ts_ns);
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
  // Nothing has so much memory: sums of what a damaged file says stay numbers.
  constexpr std::int64_t kMost_bytes = std::int64_t{1} << 44;
  t_.allocations.push_back({a.start_ns, a.address, std::clamp(a.bytes, -kMost_bytes, kMost_bytes),
                            a.total_allocated_bytes, a.total_reserved_bytes,
                            a.device_type == 0 ? -1 : a.device, false, thread(a.tid), kNoIndex});
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

}  // namespace

support::Result<Timeline> gather(exporter::Shown& shown, const AnalysisOptions& options,
                                 Dictionary& dictionary, exporter::ShownSink* also) {
  Timeline timeline;
  timeline.window = shown.request().window.index;
  Gatherer gatherer(shown, options, dictionary, timeline);
  if (also == nullptr) {
    GPUPROF_CHECK(shown.replay(gatherer));
  } else {
    Tee both(gatherer, *also);
    GPUPROF_CHECK(shown.replay(both));
  }
  const Index key = dictionary.host_key({0, 0, 0, 0, OperatorKind::kPython});
  for (const PythonInterval& call : options.python)
    if (call.pid == shown.survey().pid) gatherer.python(call, key);
  link(timeline, dictionary, options.steps.has_value());
  return timeline;
}

}  // namespace gpuprof::report
