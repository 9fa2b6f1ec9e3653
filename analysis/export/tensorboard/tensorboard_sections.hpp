// SPDX-License-Identifier: Apache-2.0
//
// The parts of a TensorBoard file and what they share.
//
// Context:  daemon (export thread) | cli
// Promises: every event gets name, ph, pid, tid and ts; docs/trace-format.md lists the rest
// Not here: the order of the parts (tensorboard_writer.cpp)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/export/encoding/buffered_writer.hpp"
#include "analysis/export/labels/stack_formatter.hpp"
#include "analysis/export/prescan/prescan.hpp"
#include "analysis/export/resolve/backward_links.hpp"
#include "analysis/export/resolve/backward_reorder.hpp"
#include "analysis/export/resolve/sample_slices.hpp"
#include "analysis/export/tensorboard/json_dialect.hpp"

namespace gpuprof::exporter {

/// Rows a viewer shows: a file's own numbers for processes and threads.
inline constexpr std::uint32_t kMaxDevicePids = 64;  // process ids below are devices
inline constexpr std::uint32_t kSmallPidOffset = 100'000;
inline constexpr std::uint64_t kSampleTidOffset = 100'000'000;
/// Steps are operators of their own: ids far above those of ranges.
inline constexpr std::uint64_t kStepIdOffset = 1ULL << 48;

/// Everything the parts write with.
struct JsonTraceState {
  BufferedWriter& json;
  Prescan& prescan;
  StackFormatter& stacks;
  const JsonDialect& spelling;
  std::uint64_t base_ns;   // CLOCK_MONOTONIC of ts 0
  std::uint32_t host_pid;  // as written
  std::uint64_t written = 0;
  std::uint32_t place = 0;     // among the files of its window
  bool supports_flows = true;  // the installed plugin can take arrows to the backward pass

  std::uint64_t since_base(std::uint64_t ns) const { return ns > base_ns ? ns - base_ns : 0; }

  /// Opens an event: the comma before it, and room for `text_bytes` of names in it.
  BufferedWriter& event(std::size_t text_bytes) {
    json.reserve(1024 + text_bytes);
    ++written;
    return json.raw(",\n");
  }
  /// `,"ts":…,"dur":…` of an interval; never negative.
  void interval(std::uint64_t start_ns, std::uint64_t end_ns) {
    const std::uint64_t start = since_base(start_ns), end = std::max(start, since_base(end_ns));
    json.raw(",\"ts\":");
    time(start).raw(",\"dur\":");
    // Rounded down like all begins and ends, so that what nests or touches still does.
    spelling.whole_us ? json.number(end / 1000 - start / 1000) : json.us(end - start);
  }
  /// `,"ts":…` of an instant.
  BufferedWriter& ts(std::uint64_t ns) {
    json.raw(",\"ts\":");
    return time(since_base(ns));
  }
  BufferedWriter& time(std::uint64_t ns) {
    return spelling.whole_us ? json.number(ns / 1000) : json.us(ns);
  }
  /// The operator a call or GPU event names; 0 unless the file has it.
  model::RangeId owner(model::RangeId range) const {
    const model::RangeId other = spelling.kernels_link_to_record
                                     ? prescan.collectives.record_of(range)
                                     : prescan.collectives.range_of(range);
    return prescan.operator_of(other != 0 && prescan.operator_of(other) != 0 ? other : range);
  }
  void write_pid_tid(std::uint64_t pid, std::uint64_t tid) {
    json.raw("\",\"pid\":").number(pid).raw(",\"tid\":").number(tid);
  }
};

/// Sentences about the session that every file carries.
using SessionNotes = std::vector<std::pair<std::string, std::string>>;
/// Who the file is about, beyond what the spool says.
struct FileContext {
  std::string host, worker, version, session;
  const SessionNotes& remarks;
  const std::vector<std::string>& missing;
};

/// Everything before the first event.
void write_header(JsonTraceState& trace, const FileContext& context);
/// Names and order of processes, threads, streams; the first one has no comma before it.
void write_track_metadata(JsonTraceState& trace);
void write_steps(JsonTraceState& trace);
/// Without any step or operator: one range over the window (else the overview is nonsense).
void write_window_range(JsonTraceState& trace);

/// Push/pop ranges as operators, others as spans and marks.
class RangeWriter {
 public:
  explicit RangeWriter(JsonTraceState& trace) : t_(trace) {}
  void write(const model::Range& range);

 private:
  void write_nested(const model::Range& range, std::string_view category, const Interval& drawn);
  void write_span(const model::Range& range, std::string_view category);
  void write_mark(const model::Range& range);
  void details(const model::Range& range);

  JsonTraceState& t_;
};

/// PyTorch's operators and the records of its allocator.
class OperatorWriter {
 public:
  explicit OperatorWriter(JsonTraceState& trace) : t_(trace), links_(trace.prescan.modules) {}
  void write(const model::Operator& op);
  void write(const model::Allocation& allocation);
  void finish();

 private:
  void write_now(const model::Operator& op);
  void write_nested(const model::Operator& op, OpKind kind, std::string_view category,
                    const Interval& drawn);
  void write_span(const model::Operator& op);
  std::string_view category_of(const model::Operator& op, OpKind kind) const;
  struct DisplayName {
    std::string_view library, name;
  };
  DisplayName resolved_name(std::string_view name, OpKind kind) const;
  void write_inputs(const model::Operator& op, OpKind kind);
  void write_flow(std::string_view name, const BackwardLink& link);

  JsonTraceState& t_;
  BackwardLinks links_;
  BackwardReorderer order_{links_};
  std::uint64_t flows_ = 0;
};

/// Host calls and the arrows that leave them.
class ApiCallWriter {
 public:
  explicit ApiCallWriter(JsonTraceState& trace) : t_(trace) {}
  void write(const model::ApiCall& call);
  void write(const model::Overhead& overhead);

 private:
  JsonTraceState& t_;
  PagedBitset drawn_;
};

/// What ran on devices.
class GpuEventWriter {
 public:
  explicit GpuEventWriter(JsonTraceState& trace) : t_(trace) {}
  void write(const model::Kernel& kernel);
  void write(const model::MemCopy& copy);
  void write(const model::MemSet& set);
  void write(const model::Sync& sync);
  void write(const model::GraphExec& graph);

 private:
  struct Shape {
    std::uint32_t device;
    std::array<std::uint32_t, 3> grid, block;
    std::uint32_t static_shared, dynamic_shared, local, executed, registers, channel;
    bool operator==(const Shape&) const = default;
  };
  struct ShapeHash {
    std::size_t operator()(const Shape& shape) const;
  };

  template <typename E>
  bool begin(const E& event, std::string_view category, std::string_view name);
  template <typename E>
  void end(const E& event);
  std::string_view shape_text(const model::Kernel& kernel);
  void bandwidth(std::uint64_t bytes, std::uint64_t ns);

  JsonTraceState& t_;
  std::uint32_t device_ = 0;  // of the event between begin and end
  PagedBitset flow_ends_;
  std::unordered_map<Shape, std::string, ShapeHash> shapes_;
  std::string scratch_;
};

/// Samples of each thread as slices: frames that stay open from one sample to the next.
class SampleWriter {
 public:
  explicit SampleWriter(JsonTraceState& trace);
  SampleWriter(const SampleWriter&) = delete;
  SampleWriter& operator=(const SampleWriter&) = delete;
  void write(const model::Sample& sample);
  void finish();

 private:
  void slice(const SampleSlices::SliceEdge& change);

  JsonTraceState& t_;
  SampleSlices slices_;
  std::unordered_map<std::uint32_t, model::StackId> last_stack_;  // of a thread's samples
};

}  // namespace gpuprof::exporter
