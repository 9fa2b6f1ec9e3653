// SPDX-License-Identifier: Apache-2.0
//
// Flame graphs: by samples, and by GPU time.
//
// Context:  cli
#include "analysis/report/aggregation/flame_aggregator.hpp"

#include <algorithm>
#include <map>

namespace gpuprof::report {

std::uint32_t FlameAggregator::under(FlameTree& tree, std::uint32_t node, StackRef stack) const {
  const std::vector<FrameId>& frames = d_.places.stacks[stack];
  for (auto at = frames.rbegin(); at != frames.rend(); ++at) {
    const StackFrame& frame = d_.places.frames[*at];
    node = tree.child(node, frame.text, frame.is_python ? FlameKind::kPython : FlameKind::kNative);
  }
  return node;
}

void FlameAggregator::samples(const Timeline& t, const exporter::Prescan& prescan) {
  all_.samples_are_ns = true;
  for (const SampleTotals& s : t.samples) {
    const std::uint32_t tid = t.threads[s.thread];
    const auto known = prescan.threads.find(tid);
    const bool named = known != prescan.threads.end() && !known->second.name.empty();
    const std::string name = named                       ? known->second.name
                             : tid == prescan.main_tid() ? "main"
                                                         : std::to_string(tid);
    const std::uint32_t thread = all_.samples.child(0, name, FlameKind::kThread);
    all_.samples.add(under(all_.samples, thread, s.stack), s.cpu_ns, s.off_cpu_ns);
  }
}

/// Python stack of the outermost operator, the operators, the kernel.
void FlameAggregator::gpu(const Timeline& t) {
  constexpr std::uint32_t kUnknown = ~0u;
  std::vector<std::uint32_t> nodes(t.host.size(), kUnknown);
  std::map<StackRef, std::uint32_t> roots;
  const auto root_of = [&](StackRef stack) {
    const auto [at, fresh] = roots.emplace(stack, 0);
    if (fresh) at->second = under(all_.gpu, 0, stack);
    return at->second;
  };
  std::vector<Index> chain;
  const auto node_of = [&](Index i) {
    chain.clear();
    for (; i != kNoIndex && nodes[i] == kUnknown; i = t.outer[i] == i ? kNoIndex : t.host[i].parent)
      chain.push_back(i);
    std::uint32_t node = i != kNoIndex ? nodes[i] : kUnknown;
    for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
      const HostKey& key = d_.host[t.host[*at].key];
      if (node == kUnknown) node = root_of(t.stacks[*at]);
      if (key.kind == OperatorKind::kOperator)
        node = all_.gpu.child(node, d_.texts.text(key.name), FlameKind::kOperator);
      nodes[*at] = node;
    }
    return node;
  };
  for (const GpuEvent& g : t.gpu) {
    const Index in = g.owner != kNoIndex ? g.owner : g.launch;
    const std::uint32_t node = in == kNoIndex ? 0 : node_of(in);
    const std::string& name = d_.texts.text(d_.gpu[g.key].name);
    all_.gpu.add(all_.gpu.child(node, name, FlameKind::kGpu), g.length_ns(), 0);
  }
}

void FlameAggregator::add(const Timeline& t, const exporter::Prescan& prescan) {
  samples(t, prescan);
  gpu(t);
}

Flames FlameAggregator::take() {
  all_.samples.finish();
  all_.gpu.finish();
  return std::move(all_);
}

}  // namespace gpuprof::report
