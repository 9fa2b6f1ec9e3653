// SPDX-License-Identifier: Apache-2.0
//
// Makes a timeline from the resolved events of a window: the rows of the host and of the GPU.
//
// Context:  cli
// Owns:     the numbers of this window's texts, stacks and keys in the dictionary
// Not here: which row belongs to which (link_events.cpp)
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/report/timeline/input_shapes.hpp"
#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {

/// Numbers of one window's ids, found once each; of ids that only damaged files have, each time.
class IdCache {
 public:
  template <typename Make>
  std::uint32_t get(std::uint32_t id, const Make& make) {
    if (id >= kMaxCachedId) return make();
    if (id >= values_.size())
      values_.resize(std::max<std::size_t>(id + 1, values_.size() * 2), ~0u);
    if (values_[id] == ~0u) {
      const std::uint32_t made = make();
      values_[id] = made;
    }
    return values_[id];
  }

 private:
  static constexpr std::uint32_t kMaxCachedId = 4'000'000;
  std::vector<std::uint32_t> values_;
};

/// Puts the resolved events of one window into a timeline.
class TimelineBuilder final : public exporter::ResolvedSink {
 public:
  TimelineBuilder(exporter::EventResolver& shown, const ProcessReportOptions& options,
                  Dictionary& dictionary, Timeline& timeline)
      : shown_(shown), options_(options), dictionary_(dictionary), timeline_(timeline) {
    const exporter::Prescan& prescan = shown.prescan();
    if (!options.steps) return;
    from_ns_ = to_ns_ = 0;
    for (const model::Step& step : prescan.steps) {
      if (step.label < options.steps->first || step.label > options.steps->last) continue;
      if (to_ns_ == 0) from_ns_ = step.start_ns;
      to_ns_ = std::max(to_ns_, step.end_ns);
    }
  }

  using ResolvedSink::on;
  void python(const PythonInterval& call, Index key);
  void on(const exporter::ResolvedStep& s) override;
  void on(const exporter::ResolvedOperator& o) override;
  void on(const exporter::ResolvedRange& r) override;
  void on(const exporter::ResolvedApiCall& c) override;
  void on(const exporter::ResolvedGpuEvent<model::Kernel>& k) override;
  void on(const exporter::ResolvedGpuEvent<model::MemCopy>& c) override;
  void on(const exporter::ResolvedGpuEvent<model::MemSet>& s) override;
  void on(const exporter::ResolvedGpuEvent<model::GraphExec>& g) override;
  void on(const exporter::ResolvedSync& s) override {
    timeline_.syncs += in_range(s.event.start_ns) ? 1 : 0;
  }
  void on(const exporter::ResolvedOverhead& o) override;
  void on(const exporter::ResolvedSample& s) override;
  void on(const model::Allocation& a) override;
  void on(const exporter::ModuleCall& m) override;

 private:
  bool in_range(std::uint64_t start_ns) const { return start_ns >= from_ns_ && start_ns < to_ns_; }
  bool try_add_event() {
    if (timeline_.host.size() + timeline_.gpu.size() < Timeline::kMaxEvents) return true;
    ++timeline_.left_out;
    return false;
  }
  void extend_bounds(std::uint64_t start_ns, std::uint64_t end_ns) {
    timeline_.first_ns = std::min(timeline_.first_ns, start_ns);
    timeline_.last_ns = std::max(timeline_.last_ns, end_ns);
  }
  StringRef text(model::StringId id, std::string_view name) {
    return texts_.get(id, [&] { return dictionary_.texts.id(name); });
  }
  StringRef shapes(model::InputsId id) {
    return shapes_.get(
        id, [&] { return dictionary_.texts.id(format_shapes(shown_.prescan().inputs.words(id))); });
  }
  StackRef stack(model::StackId id, std::uint64_t ts_ns) {
    if (id == 0) return 0;
    return stacks_.get(id, [&] { return stack_of(shown_.stacks().frames(id, ts_ns)); });
  }
  template <typename Frames>
  StackRef stack_of(const Frames& frames) {
    std::vector<FrameId> ids;
    for (const exporter::StackFormatter::Frame frame : frames)
      ids.push_back(frames_.get(frame, [&] {
        return dictionary_.frame(std::string(shown_.stacks().name(frame)),
                                 shown_.stacks().source_location(frame));
      }));
    return dictionary_.stack(ids);
  }
  Index thread(std::uint32_t tid) {
    if (tid == last_tid_ && !timeline_.threads.empty()) return last_thread_;
    last_tid_ = tid;
    const auto [at, fresh] = threads_.emplace(tid, static_cast<Index>(timeline_.threads.size()));
    if (fresh) timeline_.threads.push_back(tid);
    return last_thread_ = at->second;
  }
  Index module(exporter::ModulePaths::Path path);
  void collective(const exporter::ResolvedOperator& o);
  Index key(std::uint32_t name, std::uint32_t a, std::uint32_t b, std::uint32_t kind,
            const std::function<HostKey()>& make);
  HostEvent& add(std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t tid, Index key);
  template <typename E>
  void add_gpu(const exporter::ResolvedGpuEvent<E>& g, Index key, std::uint64_t bytes);

  exporter::EventResolver& shown_;
  const ProcessReportOptions& options_;
  Dictionary& dictionary_;
  Timeline& timeline_;
  std::uint64_t from_ns_ = 0, to_ns_ = ~0ULL;
  IdCache texts_, shapes_, stacks_, frames_, modules_;
  std::unordered_map<std::uint32_t, Index> threads_;
  std::uint32_t last_tid_ = 0;
  Index last_thread_ = 0;
  struct KeyFields {
    std::uint32_t name, a, b, kind;
    bool operator==(const KeyFields&) const = default;
  };
  struct HashWanted {
    std::size_t operator()(const KeyFields& w) const {
      std::uint64_t h = (std::uint64_t{w.name} << 32 | w.a) * 0x9e3779b97f4a7c15ULL;
      return (h ^ (std::uint64_t{w.b} << 8 | w.kind)) * 0xc2b2ae3d27d4eb4fULL >> 7;
    }
  };
  std::unordered_map<KeyFields, Index, HashWanted> keys_;
  struct CachedKernel {
    model::Kernel like;
    Index key;
  };
  std::unordered_map<std::uint32_t, std::vector<CachedKernel>> kernels_;  // by name
  std::unordered_map<std::uint32_t, Index> copies_;                       // by kinds and device
  std::unordered_map<std::uint64_t, std::size_t> samples_;
};

}  // namespace gpuprof::report
