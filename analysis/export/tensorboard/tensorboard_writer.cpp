// SPDX-License-Identifier: Apache-2.0
//
// The two passes: prescan, then events.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/tensorboard/tensorboard_writer.hpp"

#include <algorithm>
#include <memory>

#include "analysis/export/encoding/text_file.hpp"
#include "analysis/export/prescan/missing_data.hpp"
#include "analysis/export/prescan/read_window.hpp"
#include "analysis/export/tensorboard/module_call_pass.hpp"
#include "analysis/export/tensorboard/tensorboard_sections.hpp"

namespace gpuprof::exporter {
namespace {

/// ts of the window's start: ranges cut there begin a few nanoseconds earlier.
constexpr std::uint64_t kLeadNs = 1'000'000;

/// The second pass.
class EventsWriter final : public model::IgnoringSink {
 public:
  explicit EventsWriter(JsonTraceState& trace)
      : prescan_(trace.prescan),
        ranges_(trace),
        operators_(trace),
        calls_(trace),
        gpu_(trace),
        flame_(trace) {}

  using model::IgnoringSink::on;
  void on(const model::Sample& e) override { pass(flame_, e); }
  void on(const model::Range& e) override {
    if (!prescan_.open_ranges.is_superseded(e)) pass(ranges_, prescan_.with_open_end(e));
  }
  void on(const model::Operator& e) override {
    if (!prescan_.open_ranges.is_superseded(e)) pass(operators_, prescan_.with_open_end(e));
  }
  void on(const model::Allocation& e) override { pass(operators_, e); }
  void on(const model::ApiCall& e) override { pass(calls_, e); }
  void on(const model::Kernel& e) override { pass(gpu_, e); }
  void on(const model::MemCopy& e) override { pass(gpu_, e); }
  void on(const model::MemSet& e) override { pass(gpu_, e); }
  void on(const model::Sync& e) override { pass(gpu_, e); }
  void on(const model::Overhead& e) override { pass(calls_, e); }
  void on(const model::GraphExec& e) override { pass(gpu_, e); }

  void finish() {
    operators_.finish();
    flame_.finish();
  }

 private:
  template <typename Part, typename E>
  void pass(Part& part, const E& event) {
    part.write(event);
  }

  const Prescan& prescan_;
  RangeWriter ranges_;
  OperatorWriter operators_;
  ApiCallWriter calls_;
  GpuEventWriter gpu_;
  SampleWriter flame_;
};

// Of two that begin and end together the reader takes the first one for the outer one: calls of
// modules come before operators, which the spool gives innermost first.
support::Result<void> write_modules(const FileRequest& request, JsonTraceState& trace) {
  if (trace.prescan.modules.empty()) {
    skip_pass(request);
    return {};
  }
  ModuleCallPass modules(trace);
  GPUPROF_TRY(end, read_events(request, modules));
  (void)end;
  modules.finish();
  trace.supports_flows = modules.accepts_flows();
  return {};
}

support::Result<void> write_events(const FileRequest& request, JsonTraceState& trace) {
  write_track_metadata(trace);
  write_steps(trace);
  write_window_range(trace);
  GPUPROF_CHECK(write_modules(request, trace));
  EventsWriter events(trace);
  GPUPROF_TRY(end, read_events(request, events));
  (void)end;  // the first pass has said whether it was complete
  events.finish();
  // Nothing may follow the events but the object's end: see docs/trace-format.md.
  trace.json.text("\n]}\n");
  return {};
}

support::Result<WrittenFile> write_file(const FileRequest& request, const JsonDialect& spelling) {
  // Both are too large for a thread's stack to be sure of.
  const auto prescan = std::make_unique<Prescan>();
  const auto stacks = std::make_unique<StackFormatter>();
  GPUPROF_CHECK(prescan_process(request, *prescan, *stacks));
  std::vector<std::string> missing = missing_data_messages(*prescan);

  const std::uint32_t pid =
      prescan->pid < kMaxDevicePids ? prescan->pid + kSmallPidOffset : prescan->pid;
  const auto write = [&](BufferedWriter& json) {
    JsonTraceState trace{json,
                         *prescan,
                         *stacks,
                         spelling,
                         request.window.start_ns - std::min(request.window.start_ns, kLeadNs),
                         pid};
    trace.place = request.process_index;
    write_header(trace,
                 FileContext{request.session.host, request.worker, request.session.options.version,
                             request.session.options.name, request.session.remarks, missing});
    return write_events(request, trace);
  };
  GPUPROF_TRY(bytes, write_text_file(request.path, request.uncompressed, write));
  return make_written_file(request, *prescan, spelling.format, bytes, std::move(missing));
}

}  // namespace

support::Result<WrittenFile> write_tensorboard(const FileRequest& request) {
  return write_file(request, kTensorboardDialect);
}

support::Result<WrittenFile> write_kineto(const FileRequest& request) {
  return write_file(request, kKinetoDialect);
}

}  // namespace gpuprof::exporter
