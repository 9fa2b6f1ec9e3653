// SPDX-License-Identifier: Apache-2.0
//
// The two passes: survey, then events.
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
  explicit EventsWriter(Trace& trace)
      : survey_(trace.survey),
        ranges_(trace),
        operators_(trace),
        calls_(trace),
        gpu_(trace),
        flame_(trace) {}

  using model::IgnoringSink::on;
  void on(const model::Sample& e) override { pass(flame_, e); }
  void on(const model::Range& e) override {
    if (!survey_.copies.replaces(e)) pass(ranges_, survey_.whole(e));
  }
  void on(const model::Operator& e) override {
    if (!survey_.copies.replaces(e)) pass(operators_, survey_.whole(e));
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

  const Survey& survey_;
  RangePart ranges_;
  OperatorPart operators_;
  CallPart calls_;
  GpuPart gpu_;
  FlamePart flame_;
};

// Of two that begin and end together the reader takes the first one for the outer one: calls of
// modules come before operators, which the spool gives innermost first.
support::Result<void> write_modules(const FileRequest& request, Trace& trace) {
  if (trace.survey.modules.empty()) {
    skip_events(request);
    return {};
  }
  ModulePass modules(trace);
  GPUPROF_TRY(end, read_events(request, modules));
  (void)end;
  modules.finish();
  trace.takes_arrows = modules.takes_arrows();
  return {};
}

support::Result<void> write_events(const FileRequest& request, Trace& trace) {
  write_rows(trace);
  write_steps(trace);
  write_capture(trace);
  GPUPROF_CHECK(write_modules(request, trace));
  EventsWriter events(trace);
  GPUPROF_TRY(end, read_events(request, events));
  (void)end;  // the first pass has said whether it was complete
  events.finish();
  // Nothing may follow the events but the object's end: see docs/trace-format.md.
  trace.json.text("\n]}\n");
  return {};
}

support::Result<FileWritten> write_file(const FileRequest& request, const Spelling& spelling) {
  // Both are too large for a thread's stack to be sure of.
  const auto survey = std::make_unique<Survey>();
  const auto stacks = std::make_unique<StackText>();
  GPUPROF_CHECK(survey_process(request, *survey, *stacks));
  std::vector<std::string> missing = shortfalls(*survey);

  const std::uint32_t pid = survey->pid < kDeviceRows ? survey->pid + kSmallPidOffset : survey->pid;
  const auto write = [&](JsonText& json) {
    Trace trace{json,
                *survey,
                *stacks,
                spelling,
                request.window.start_ns - std::min(request.window.start_ns, kLeadNs),
                pid};
    trace.place = request.place;
    write_head(trace,
               FileContext{request.session.host, request.worker, request.session.options.version,
                           request.session.options.name, request.session.remarks, missing});
    return write_events(request, trace);
  };
  GPUPROF_TRY(bytes, write_text(request.path, request.plain, write));
  return describe(request, *survey, spelling.format, bytes, std::move(missing));
}

}  // namespace

support::Result<FileWritten> write_tensorboard(const FileRequest& request) {
  return write_file(request, kTensorboardSpelling);
}

support::Result<FileWritten> write_kineto(const FileRequest& request) {
  return write_file(request, kKinetoSpelling);
}

}  // namespace gpuprof::exporter
