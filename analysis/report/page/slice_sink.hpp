// SPDX-License-Identifier: Apache-2.0
//
// Keeps the events of one stretch, on tracks of threads and streams.
//
// Context:  cli
// Owns:     the events kept: never more than twice the limit
// Promises: of more than the limit, those that begin first; finish() says how many were left out
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/export/resolve/event_resolver.hpp"
#include "analysis/report/page/slices.hpp"

namespace gpuprof::report::page {

/// Texts of all slices of a process, each once.
class SliceStrings {
 public:
  explicit SliceStrings(std::vector<std::string>& strings) : strings_(strings) {
    if (strings_.empty()) strings_.emplace_back();
  }
  std::uint32_t id(std::string_view text);

 private:
  std::vector<std::string>& strings_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

class SliceSink final : public exporter::ResolvedSink {
 public:
  SliceSink(const exporter::Prescan& prescan, SliceStrings& texts, std::size_t limit)
      : prescan_(prescan), texts_(texts), limit_(limit) {}

  using exporter::ResolvedSink::on;
  void on(const exporter::ResolvedStep& shown) override;
  void on(const exporter::ResolvedOperator& shown) override;
  void on(const exporter::ResolvedRange& shown) override;
  void on(const exporter::ResolvedApiCall& shown) override;
  void on(const exporter::ResolvedGpuEvent<model::Kernel>& shown) override;
  void on(const exporter::ResolvedGpuEvent<model::MemCopy>& shown) override;
  void on(const exporter::ResolvedGpuEvent<model::MemSet>& shown) override;
  void on(const exporter::ResolvedGpuEvent<model::GraphExec>& shown) override;
  void on(const exporter::ResolvedSync& shown) override;
  void on(const exporter::ModuleCall& call) override;

  /// Events in rows; `slice` has its title. Call it once.
  void finish(Slice& slice);

 private:
  enum class Group : std::uint8_t { kSteps, kThread, kStream, kSync };
  /// Group, thread or device, stream: in this order from top to bottom.
  using TrackKey = std::tuple<Group, std::uint64_t, std::int64_t>;
  struct KeptEvent {
    TrackKey track;
    std::uint64_t start_ns, end_ns;
    std::uint32_t name, detail, flow;
    SliceKind kind;
  };

  void keep(const TrackKey& track, SliceKind kind, std::uint64_t start_ns, std::uint64_t end_ns,
            std::string_view name, std::uint32_t flow = 0, std::string_view detail = {});
  void drop_latest();
  std::string title(const TrackKey& key) const;
  void place(Slice& slice, std::vector<KeptEvent>::const_iterator first,
             std::vector<KeptEvent>::const_iterator last) const;

  const exporter::Prescan& prescan_;
  SliceStrings& texts_;
  const std::size_t limit_;
  std::vector<KeptEvent> kept_;
  std::uint64_t cut_ns_ = ~0ULL;  // what begins here or later is left out
  std::uint64_t left_out_ = 0;
};

}  // namespace gpuprof::report::page
