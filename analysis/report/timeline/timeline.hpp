// SPDX-License-Identifier: Apache-2.0
//
// The events of one process in one window, compact and in order: what the parts of an analysis
// are computed from.
//
// Context:  cli
// Owns:     its events, until the next window: some 50 bytes each
// Promises: host events are sorted by thread, start and, of those that start together, end, the
//           outer first; parents are whom they lie in, so they come before their children
// Not here: what is made of them (*_aggregator.cpp)
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/export/containers/flat_hash_map.hpp"
#include "analysis/export/resolve/event_resolver.hpp"
#include "analysis/report/process_report.hpp"
#include "analysis/report/timeline/string_pool.hpp"

namespace gpuprof::report {

using exporter::FlatHashMap;

using Index = std::uint32_t;
inline constexpr Index kNoIndex = ~0u;

/// What is equal of host events that count as one row; the same in all windows of a process.
struct HostKey {
  StringRef name = 0, shapes = 0, domain = 0;
  StackRef stack = 0;
  OperatorKind kind = OperatorKind::kOperator;
  exporter::OpKind op = exporter::OpKind::kPlain;
  bool encloses_steps = false;  // around steps
  bool waits = false;           // a call that waits for a GPU, by its name
  bool driver = false;
  bool is_standalone_sync = false;  // a wait that was recorded by itself: no call of the runtime

  bool operator==(const HostKey&) const = default;
};

struct HostEvent {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint64_t id = 0;  // of operators and ranges: model::RangeId
  Index key = 0;         // in Dictionary::host
  Index thread = 0;      // in Timeline::threads
  Index parent = kNoIndex;
  std::uint32_t correlation = 0;  // of calls
  Index module = kNoIndex;        // in Dictionary::modules; innermost
  Index step = kNoIndex;          // in Timeline::steps; of its time, whatever its thread
  bool failed = false, nested_call = false;

  std::uint64_t length_ns() const { return end_ns - start_ns; }
};

enum class GpuKind : std::uint8_t { kKernel, kCopy, kSet, kGraph };

/// What is equal of GPU events that count as one row.
struct GpuKey {
  StringRef name = 0;
  GpuKind kind = GpuKind::kKernel;
  std::uint32_t device = 0;
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint32_t registers = 0, shared_bytes = 0;
  bool pageable = false, tensor_core = false, nccl = false;
  bool copy_by_cpu = false;  // a copy that the CPU makes, in its place in the stream
  double blocks_per_sm = 0, occupancy_percent = 0;

  bool same(const GpuKey& other) const;
};

struct GpuEvent {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint64_t owner_id = 0;  // model::RangeId
  std::uint64_t bytes = 0;
  Index key = 0;  // in Dictionary::gpu
  std::uint32_t correlation = 0, stream = 0;
  Index owner = kNoIndex;   // host event: operator or range
  Index launch = kNoIndex;  // host event: call
  Index step = kNoIndex;    // where it was launched, else where it began

  std::uint64_t length_ns() const { return end_ns - start_ns; }
};

struct AllocationEvent {
  std::uint64_t ts_ns = 0, address = 0;
  std::int64_t bytes = 0;
  std::uint64_t allocated_bytes = 0, reserved_bytes = 0;
  std::int32_t device = -1;  // -1: the host
  bool relative = false;     // allocated_bytes was added up here, from the window's lowest level
  Index thread = 0;
  Index owner = kNoIndex;  // innermost operator around it on its thread
};

/// Samples of one thread with one stack.
struct SampleTotals {
  Index thread = 0;
  StackRef stack = 0;
  std::uint64_t on_cpu_samples = 0, off_cpu_samples = 0, cpu_ns = 0, off_cpu_ns = 0;
};

/// Arguments of a collective.
struct CollectiveArgs {
  std::uint64_t id = 0;  // of its host event
  std::uint64_t bytes = 0;
  StringRef dtype = 0, group = 0;
};

/// An operator that autograd numbered.
struct SequencedOperator {
  std::uint64_t id = 0;
  std::int64_t sequence = 0;
  std::uint32_t tid = 0, forward_tid = 0;
  bool backward = false;
};

struct ModuleCallSpan {
  Index module = 0;
  std::uint32_t tid = 0;
  std::uint64_t start_ns = 0, end_ns = 0;
};

struct RangeSpan {  // of ranges that do not nest
  StringRef name = 0, domain = 0;
  std::uint64_t start_ns = 0, end_ns = 0;
};

/// Numbers of keys, texts, places and modules: one for all windows of a process.
struct Dictionary {
  struct Module {
    StringRef path = 0, name = 0;
    Index parent = kNoIndex;
    std::uint32_t depth = 0;
  };

  StringPool texts;
  StackTable places;
  std::vector<HostKey> host;
  std::vector<GpuKey> gpu;
  std::vector<Module> modules;

  Index host_key(const HostKey& key);
  Index gpu_key(const GpuKey& key);
  StackRef stack(const std::vector<FrameId>& frames);
  FrameId frame(const std::string& text, const symbols::DisplayFrame& place);
  Index module(StringRef path, StringRef name, Index parent, std::uint32_t depth);

 private:
  std::unordered_multimap<std::uint64_t, Index> host_index_, gpu_index_, stack_index_;
  std::unordered_map<std::string, FrameId> frames_;
  std::unordered_map<StringRef, Index> modules_by_path_;
};

struct Timeline {
  std::uint32_t window = 0;
  std::vector<model::Step> steps;
  std::vector<std::string> step_places;
  std::size_t warm_up = 0;  // warm-up steps in front (aggregation/warm_up_steps.hpp)
  std::uint64_t first_ns = ~0ULL, last_ns = 0;  // of events
  std::vector<std::uint32_t> threads;           // tids
  std::vector<HostEvent> host;
  std::vector<GpuEvent> gpu;                 // in order of start
  std::vector<AllocationEvent> allocations;  // in order of time
  std::vector<SampleTotals> samples;
  std::vector<SequencedOperator> sequenced;
  std::vector<ModuleCallSpan> modules;
  std::vector<RangeSpan> ranges;
  std::vector<CollectiveArgs> collectives;
  FlatHashMap host_by_id;                 // host events by model::RangeId
  std::uint64_t syncs = 0, left_out = 0;  // beyond kMaxEvents

  /// Of one window; what comes later is counted and said.
  static constexpr std::size_t kMaxEvents = 50'000'000;

  // Of host events, filled by link_events():
  /// The innermost stack known: its own, of those around it, or of the operator it is the backward
  /// of.
  std::vector<StackRef> stacks;
  std::vector<FrameId> lines;            // innermost frame of the program on these; 0: none
  std::vector<Index> outer;              // outermost operator around it, or itself; kNoIndex: none
  std::vector<std::uint64_t> device_ns;  // GPU work launched in it, with all that lies in it
  std::vector<FrameId> gpu_lines;        // of GPU events: where they were launched
};

/// Reads one window. `also` gets the same events; null: nobody.
support::Result<Timeline> build_timeline(exporter::EventResolver& shown,
                                         const ProcessReportOptions& options,
                                         Dictionary& dictionary, exporter::ResolvedSink* also);

}  // namespace gpuprof::report
