// SPDX-License-Identifier: Apache-2.0
//
// From resolved events to slices, flows and counters of a Perfetto trace.
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
class ForwardFlowSources final : public ResolvedSink {
 public:
  using ResolvedSink::on;
  void on(const ResolvedOperator& op) override {
    if (op.link != nullptr) ids.test_and_set(op.link->forward_id);
  }
  PagedBitset ids;
};

/// Fields of one event; the texts in it are interned.
class TrackEventBuilder {
 public:
  explicit TrackEventBuilder(PerfettoPacketWriter& packets) : packets_(packets) {}

  TrackEventBuilder& begin(std::string_view category, std::string_view name);
  TrackEventBuilder& number(std::string_view key, std::uint64_t value);
  TrackEventBuilder& signed_number(std::string_view key, std::int64_t value);
  TrackEventBuilder& real(std::string_view key, double value);
  /// A text that comes often.
  TrackEventBuilder& text(std::string_view key, std::string_view value);
  TrackEventBuilder& place(const symbols::DisplayFrame& frame);
  TrackEventBuilder& flow(std::uint64_t id);
  /// Valid until the next begin().
  std::string_view bytes();

 private:
  perfetto::DebugAnnotation& add(std::string_view key);

  PerfettoPacketWriter& packets_;
  PerfettoPacketWriter::Event event_;
  std::string scratch_;
};

/// How much GPU work runs at a time, told in order.
class InFlightCounter {
 public:
  using OnValue = std::function<void(std::uint64_t ns, std::int64_t running)>;

  void add(std::uint64_t start_ns, std::uint64_t end_ns, const OnValue& tell);
  void finish(const OnValue& tell);

 private:
  static constexpr std::size_t kMaxAhead = 65'536;
  struct Change {
    std::uint64_t ns;
    std::int64_t by;
    auto operator<=>(const Change&) const = default;  // ends before begins
  };

  void pop(const OnValue& tell);

  std::priority_queue<Change, std::vector<Change>, std::greater<>> pending_;
  std::int64_t running_ = 0;
  std::uint64_t emitted_ns_ = 0;
};

class PerfettoEvents final : public ResolvedSink {
 public:
  PerfettoEvents(EventResolver& shown, PerfettoPacketWriter& packets, PerfettoTracks& tracks,
                 const PagedBitset& forward_ends, std::uint32_t file_id);

  /// What gpuprof itself has to say, before the events.
  void write_notes();
  void finish();

  using ResolvedSink::on;
  void on(const ResolvedStep& step) override;
  void on(const ResolvedOperator& op) override;
  void on(const ResolvedRange& range) override;
  void on(const ResolvedApiCall& call) override;
  void on(const ResolvedGpuEvent<model::Kernel>& kernel) override;
  void on(const ResolvedGpuEvent<model::MemCopy>& copy) override;
  void on(const ResolvedGpuEvent<model::MemSet>& set) override;
  void on(const ResolvedGpuEvent<model::GraphExec>& graph) override;
  void on(const ResolvedSync& sync) override;
  void on(const ResolvedOverhead& overhead) override;
  void on(const ResolvedSample& sample) override { slices_.add(sample); }
  void on(const model::Allocation& allocation) override;
  void on(const ModuleCall& call) override;

 private:
  using Row = PerfettoTracks::TrackType;

  TrackEventBuilder& begin(std::string_view category, std::string_view name);
  void note(std::string_view name, std::string_view key, std::string_view text);
  void stack(model::StackId stack, std::uint64_t ns);
  void inputs(model::InputsId id);
  void range_details(const model::Range& range);
  template <typename E>
  void begin_gpu(std::string_view category, const ResolvedGpuEvent<E>& shown);
  template <typename E>
  void end_gpu(const ResolvedGpuEvent<E>& shown);
  void bytes(std::uint64_t bytes, std::uint64_t ns);
  void slice(const SampleSlices::SliceEdge& change);
  InFlightCounter::OnValue counter_callback(std::uint32_t device);
  std::uint64_t launch_flow(std::uint32_t correlation) const;
  std::uint64_t forward_flow(model::RangeId forward) const;

  EventResolver& shown_;
  Prescan& prescan_;
  PerfettoPacketWriter& packets_;
  PerfettoTracks& tracks_;
  const PagedBitset& forward_sources_;
  const std::uint64_t file_;
  TrackEventBuilder body_;
  SampleSlices slices_;
  std::map<std::uint32_t, InFlightCounter> in_flight_;
};

}  // namespace gpuprof::exporter
