// SPDX-License-Identifier: Apache-2.0
//
// From what is shown to slices, flows and counters of a Perfetto trace.
//
// Context:  daemon (export thread) | cli
// Owns:     ends of GPU work ahead
// Promises: ids of one thing are the same whether a flow begins or ends there
// Not here: tracks and their order (perfetto_tracks.hpp)
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/export/containers/paged_bitset.hpp"
#include "analysis/export/perfetto/perfetto_tracks.hpp"
#include "analysis/export/resolve/event_resolver.hpp"
#include "analysis/export/resolve/sample_slices.hpp"

namespace gpuprof::exporter {

/// A first reading: which operators of the forward pass an arrow leaves.
class ForwardEnds final : public ShownSink {
 public:
  using ShownSink::on;
  void on(const ShownOp& op) override {
    if (op.link != nullptr) ids.test_and_set(op.link->forward_id);
  }
  PagedBits ids;
};

/// Fields of one event; the texts in it are interned.
class PerfettoBody {
 public:
  explicit PerfettoBody(PerfettoPackets& packets) : packets_(packets) {}

  PerfettoBody& begin(std::string_view category, std::string_view name);
  PerfettoBody& number(std::string_view key, std::uint64_t value);
  PerfettoBody& signed_number(std::string_view key, std::int64_t value);
  PerfettoBody& real(std::string_view key, double value);
  /// A text that comes often.
  PerfettoBody& text(std::string_view key, std::string_view value);
  PerfettoBody& place(const symbols::DisplayFrame& frame);
  PerfettoBody& flow(std::uint64_t id);
  /// Valid until the next begin().
  std::string_view bytes();

 private:
  perfetto::DebugAnnotation& add(std::string_view key);

  PerfettoPackets& packets_;
  PerfettoPackets::Event event_;
  std::string scratch_;
};

/// How much GPU work runs at a time, told in order.
class WorkInFlight {
 public:
  using Tell = std::function<void(std::uint64_t ns, std::int64_t running)>;

  void add(std::uint64_t start_ns, std::uint64_t end_ns, const Tell& tell);
  void finish(const Tell& tell);

 private:
  static constexpr std::size_t kMaxAhead = 65'536;
  struct Change {
    std::uint64_t ns;
    std::int64_t by;
    auto operator<=>(const Change&) const = default;  // ends before begins
  };

  void pop(const Tell& tell);

  std::priority_queue<Change, std::vector<Change>, std::greater<>> ahead_;
  std::int64_t running_ = 0;
  std::uint64_t told_ns_ = 0;
};

class PerfettoEvents final : public ShownSink {
 public:
  PerfettoEvents(Shown& shown, PerfettoPackets& packets, PerfettoTracks& tracks,
                 const PagedBits& forward_ends, std::uint32_t file_id);

  /// What gpuprof itself has to say, before the events.
  void notes();
  void finish();

  using ShownSink::on;
  void on(const ShownStep& step) override;
  void on(const ShownOp& op) override;
  void on(const ShownRange& range) override;
  void on(const ShownCall& call) override;
  void on(const ShownGpu<model::Kernel>& kernel) override;
  void on(const ShownGpu<model::MemCopy>& copy) override;
  void on(const ShownGpu<model::MemSet>& set) override;
  void on(const ShownGpu<model::GraphExec>& graph) override;
  void on(const ShownSync& sync) override;
  void on(const ShownOverhead& overhead) override;
  void on(const ShownSample& sample) override { slices_.add(sample); }
  void on(const model::Allocation& allocation) override;
  void on(const ModuleCall& call) override;

 private:
  using Row = PerfettoTracks::Row;

  PerfettoBody& begin(std::string_view category, std::string_view name);
  void note(std::string_view name, std::string_view key, std::string_view text);
  void stack(model::StackId stack, std::uint64_t ns);
  void inputs(model::InputsId id);
  void range_details(const model::Range& range);
  template <typename E>
  void begin_gpu(std::string_view category, const ShownGpu<E>& shown);
  template <typename E>
  void end_gpu(const ShownGpu<E>& shown);
  void bytes(std::uint64_t bytes, std::uint64_t ns);
  void slice(const SampleSlices::Change& change);
  WorkInFlight::Tell teller(std::uint32_t device);
  std::uint64_t launch_flow(std::uint32_t correlation) const;
  std::uint64_t forward_flow(model::RangeId forward) const;

  Shown& shown_;
  Survey& survey_;
  PerfettoPackets& packets_;
  PerfettoTracks& tracks_;
  const PagedBits& forward_ends_;
  const std::uint64_t file_;
  PerfettoBody body_;
  SampleSlices slices_;
  std::map<std::uint32_t, WorkInFlight> in_flight_;
};

}  // namespace gpuprof::exporter
