// SPDX-License-Identifier: Apache-2.0
//
// The first pass and the last words.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/prescan/read_window.hpp"

#include <algorithm>

#include "recording/model/loss.hpp"
#include "recording/model/work_lag.hpp"

namespace gpuprof::exporter {
namespace {

/// The part of a spool that may hold events of the window: GPU work ends later than its launch.
spool::ReplayRange replay_range(const model::Window& window) {
  const std::uint64_t room = ~0ULL - window.end_ns;
  return {window.start_ns, window.end_ns + std::min(room, model::kMaxWorkLagNs)};
}

/// The host calls before the window.
class EarlierLaunches final : public model::IgnoringSink {
 public:
  explicit EarlierLaunches(Prescan& prescan) : prescan_(prescan) {}
  using model::IgnoringSink::on;
  void on(const model::ApiCall& e) override {
    if (e.start_ns < prescan_.window.start_ns && e.correlation != 0)
      prescan_.launched_before_window.test_and_set(e.correlation);
  }

 private:
  Prescan& prescan_;
};

class LossCheck final : public model::IgnoringSink {
 public:
  using model::IgnoringSink::on;
  void on(const model::Loss& e) override {
    any |= e.count != 0 && model::counts_records(static_cast<model::LossReason>(e.reason));
  }
  bool any = false;
};

/// A GPU event without its host call is this window's unless the call is in the one before. Worth
/// a look where records were lost: else a call that is not there came before the recording.
support::Result<void> find_earlier_launches(const FileRequest& request, Prescan& prescan) {
  if (!request.window.gapless) return {};
  LossCheck lost;
  // A range that holds no event: losses come all the same.
  GPUPROF_CHECK(spool::replay(request.process, {~0ULL, ~0ULL}, lost));
  if (!lost.any) return {};
  const std::uint64_t start_ns = request.window.start_ns;
  const std::uint64_t from_ns = start_ns - std::min(start_ns, model::kMaxWorkLagNs);
  EarlierLaunches before(prescan);
  GPUPROF_CHECK(spool::replay(request.process, {from_ns, start_ns}, before));
  prescan.launches_before_known = true;
  return {};
}

}  // namespace

bool is_simulated(const Prescan& prescan) {
  for (const auto& [key, value] : prescan.facts)
    if (key.find("simulated") != std::string::npos && value != "0" && value != "no") return true;
  return false;
}

support::Result<spool::ReplayResult> read_events(const FileRequest& request,
                                                 model::EventSink& sink) {
  return spool::replay(request.process, replay_range(request.window), sink, request.progress);
}

void skip_pass(const FileRequest& request) {
  if (request.progress) request.progress(count_pass_events(request.process, request.window));
}

std::uint64_t count_pass_events(const spool::ProcessEntry& process, const model::Window& window) {
  const auto blocks = spool::block_summaries(process, replay_range(window));
  std::uint64_t sum = 0;
  if (blocks)
    for (const spool::BlockSummary& block : blocks.value()) sum += block.events;
  return sum;
}

support::Result<void> prescan_process(const FileRequest& request, Prescan& prescan,
                                      StackFormatter& stacks) {
  prescan.window = request.window;
  prescan.pid = request.process.pid;
  prescan.is_truncated = request.process.truncated_at_ns < request.window.end_ns;
  prescan.samples_requested = request.session.options.wants_samples();
  prescan.stacks_requested = request.session.options.with_stack;
  if (prescan.samples_requested)
    prescan.sample_period_ns = 1'000'000'000 / request.session.options.rate_hz;
  GPUPROF_CHECK(find_earlier_launches(request, prescan));
  Prescanner prescanner(prescan, stacks);
  GPUPROF_TRY(end, read_events(request, prescanner));
  prescan.replay_complete = end.complete;
  prescanner.finish();
  return {};
}

WrittenFile make_written_file(const FileRequest& request, const Prescan& prescan,
                              std::string_view format, std::uint64_t bytes,
                              std::vector<std::string> missing) {
  WrittenFile file;
  file.path = request.path;
  file.format = format;
  file.bytes = bytes;
  file.pid = prescan.pid;
  file.window = request.window.index;
  file.events = prescan.events();
  file.steps = prescan.steps.size();
  file.simulated = is_simulated(prescan);
  for (std::size_t i = 0; i < prescan.counts.size(); ++i)
    if (prescan.counts[i] != 0)
      file.events_by_kind.emplace_back(name_of(static_cast<EventKind>(i)), prescan.counts[i]);
  for (const auto& [reason, loss] : prescan.losses)
    if (loss.in_window != 0)
      file.drops_by_reason.emplace_back(loss_name(static_cast<model::LossReason>(reason)),
                                        loss.in_window);
  file.missing = std::move(missing);
  return file;
}

}  // namespace gpuprof::exporter
