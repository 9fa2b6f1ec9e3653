// SPDX-License-Identifier: Apache-2.0
//
// The two passes: survey, then events.
//
// Context:  daemon (export thread) | cli
#include "daemon/export/tensorboard_writer.hpp"

#include <algorithm>
#include <memory>

#include "daemon/export/gzip_file.hpp"
#include "daemon/export/module_pass.hpp"
#include "daemon/export/shortfalls.hpp"
#include "daemon/export/tensorboard_parts.hpp"
#include "daemon/model/loss.hpp"

namespace gpuprof::exporter {
namespace {

/// ts of the window's start: ranges cut there begin a few nanoseconds earlier.
constexpr std::uint64_t kLeadNs = 1'000'000;
/// How long after its launch a GPU event may start and still be looked for.
constexpr std::uint64_t kGpuLagNs = 5'000'000'000;
constexpr std::uint64_t kProgressEvery = 1 << 16;

/// The second pass.
class EventsWriter final : public model::IgnoringSink {
 public:
  EventsWriter(Trace& trace, const FileRequest& request)
      : request_(request),
        survey_(trace.survey),
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
    if (++done_ % kProgressEvery == 0 && request_.progress) request_.progress(done_);
  }

  const FileRequest& request_;
  const Survey& survey_;
  std::uint64_t done_ = 0;
  RangePart ranges_;
  OperatorPart operators_;
  CallPart calls_;
  GpuPart gpu_;
  FlamePart flame_;
};

spool::ReplayRange replay_range(const model::Window& window) {
  const std::uint64_t room = ~0ULL - window.end_ns;
  return {window.start_ns, window.end_ns + std::min(room, kGpuLagNs)};
}

support::Result<void> survey_process(const FileRequest& request, Survey& survey,
                                     StackText& stacks) {
  survey.window = request.window;
  survey.pid = request.process.pid;
  survey.cut_short = request.process.cut_ns < request.window.end_ns;
  survey.samples_wanted = request.session.options.wants_samples();
  survey.stacks_wanted = request.session.options.with_stack;
  if (survey.samples_wanted)
    survey.sample_period_ns = 1'000'000'000 / request.session.options.rate_hz;
  Surveyor surveyor(survey, stacks);
  GPUPROF_TRY(end,
              spool::replay(request.process.spool_path, replay_range(request.window), surveyor));
  survey.replay_complete = end.complete;
  surveyor.finish();
  return {};
}

// Of two that begin and end together the reader takes the first one for the outer one: calls of
// modules come before operators, which the spool gives innermost first.
support::Result<void> write_modules(const FileRequest& request, Trace& trace) {
  if (trace.survey.modules.empty()) return {};
  ModulePass modules(trace);
  GPUPROF_TRY(end,
              spool::replay(request.process.spool_path, replay_range(request.window), modules));
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
  EventsWriter events(trace, request);
  GPUPROF_TRY(end, spool::replay(request.process.spool_path, replay_range(request.window), events));
  (void)end;  // the first pass has said whether it was complete
  events.finish();
  // Nothing may follow the events but the object's end: see docs/trace-format.md.
  trace.json.text("\n]}\n");
  trace.json.finish();
  return {};
}

FileWritten describe(const FileRequest& request, const Survey& survey,
                     std::vector<std::string> missing) {
  FileWritten file;
  file.path = request.path;
  file.pid = survey.pid;
  file.window = request.window.index;
  file.events = survey.events();
  file.steps = survey.steps.size();
  file.simulated = is_simulated(survey);
  for (std::size_t i = 0; i < survey.counts.size(); ++i)
    if (survey.counts[i] != 0)
      file.events_by_kind.emplace_back(name_of(static_cast<Counted>(i)), survey.counts[i]);
  for (const auto& [reason, loss] : survey.losses)
    if (loss.in_window != 0)
      file.drops_by_reason.emplace_back(name_of(static_cast<model::LossReason>(reason)),
                                        loss.in_window);
  file.missing = std::move(missing);
  return file;
}

support::Result<FileWritten> write_file(const FileRequest& request, const Spelling& spelling) {
  // Both are too large for a thread's stack to be sure of.
  const auto survey = std::make_unique<Survey>();
  const auto stacks = std::make_unique<StackText>();
  GPUPROF_CHECK(survey_process(request, *survey, *stacks));
  std::vector<std::string> missing = shortfalls(*survey);

  GPUPROF_TRY(file, GzipFile::create(request.path, request.plain));
  JsonText json(*file);
  const std::uint32_t pid = survey->pid < kDeviceRows ? survey->pid + kSmallPidOffset : survey->pid;
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
  GPUPROF_CHECK(write_events(request, trace));
  GPUPROF_TRY(bytes, file->finish());
  FileWritten result = describe(request, *survey, std::move(missing));
  result.bytes = bytes;
  result.format = spelling.format;
  return result;
}

}  // namespace

support::Result<FileWritten> write_tensorboard(const FileRequest& request) {
  return write_file(request, kTensorboardSpelling);
}

support::Result<FileWritten> write_kineto(const FileRequest& request) {
  return write_file(request, kKinetoSpelling);
}

}  // namespace gpuprof::exporter
