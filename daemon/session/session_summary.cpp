// SPDX-License-Identifier: Apache-2.0
//
// What a session came to, for the client.
//
// Context:  daemon (ingest thread)
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "daemon/messages/session.hpp"
#include "daemon/session/session.hpp"
#include "recording/model/loss.hpp"
#include "recording/session/step_spec.hpp"
#include "support/text/text.hpp"

namespace gpuprof::session {
namespace {

constexpr std::size_t kSummaryPart = 60'000;
constexpr int kSummaryWaitMs = 2000;

const char* end_text(Target::End end) {
  switch (end) {
    case Target::End::kSentBye:
      return "exited";
    case Target::End::kVanished:
      return "vanished";
    case Target::End::kReplaced:
      return "replaced by exec";
    default:
      return "alive";
  }
}

const char* sampler_text(std::uint64_t kind) {
  switch (static_cast<wire::SamplerKind>(kind)) {
    case wire::SamplerKind::kPerf:
      return "perf";
    case wire::SamplerKind::kCpuTimer:
      return "cpu-timer";
    case wire::SamplerKind::kTgkill:
      return "tgkill";
    case wire::SamplerKind::kWallTestOnly:
      return "wall-test-only";
    default:
      return "off";
  }
}

void add_once(std::vector<std::string>& messages, const std::string& message) {
  if (std::find(messages.begin(), messages.end(), message) == messages.end())
    messages.push_back(message);
}

/// Peak resident memory of this daemon; 0 where the kernel does not tell. Not from getrusage: that
/// figure outlives exec and may be the command's that started us.
std::uint64_t own_peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

std::uint64_t own_cpu_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(time.tv_usec) * 1'000u;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

recording::SummaryProcess process_of(const Target& target, const std::string& role) {
  const Target::Identity& identity = target.identity();
  const ingest::EventCounts& counts = target.counts();
  recording::SummaryProcess process;
  process.pid = identity.pid;
  process.ppid = identity.ppid;
  process.exe = identity.exe;
  process.command_line = identity.command_line;
  process.role = role;
  process.woke = identity.wake_reasons;
  process.samples = counts.samples;
  process.gpu_events = counts.gpu_events;
  process.api_calls = counts.api_calls;
  process.ranges = counts.ranges;
  process.steps = counts.steps;
  process.operators = counts.operators;
  process.allocations = counts.allocations;
  process.cpu_ns = counts.cpu_ns;
  process.end = end_text(target.end());
  return process;
}

void add_overhead(recording::SummaryOverhead& overhead, const Target& target) {
  const ingest::StatsPoller& stats = target.stats();
  overhead.worker_cpu_ns += stats.value(wire::Counter::kWorkerCpuNs);
  overhead.samples += stats.value(wire::Counter::kSamplesTaken);
  overhead.launch_callbacks += stats.value(wire::Counter::kLaunchCallbacks);
  overhead.nvtx_calls += stats.value(wire::Counter::kNvtxCalls);
}

/// What is measured under --max-overhead.
void add_limited(recording::Summary& made, const Target& target) {
  const OverheadMonitor* measured = target.overhead();
  if (measured == nullptr) return;
  constexpr double kPpm = 1e4;  // of a percent
  const Governor& governor = measured->governor();
  recording::SummaryOverhead& overhead = made.overhead;
  overhead.limit = percent_text(measured->limit_ppm());
  overhead.own_ns += measured->own_ns();
  overhead.highest_percent =
      std::max(overhead.highest_percent, static_cast<double>(governor.highest_ppm()) / kPpm);
  overhead.last_percent =
      std::max(overhead.last_percent, static_cast<double>(governor.current_ppm()) / kPpm);
  for (const Target::AppliedReduction& one : target.applied_reductions())
    made.left_out.push_back({target.identity().pid, one.tid, one.since_ns,
                             static_cast<double>(one.share_ppm) / kPpm, one.what});
}

bool is_reported_of(const std::vector<exporter::WrittenFile>& files, const std::string& message) {
  return std::any_of(files.begin(), files.end(), [&](const exporter::WrittenFile& file) {
    return std::find(file.missing.begin(), file.missing.end(), message) != file.missing.end();
  });
}

/// What is said of some files only says of how many. Files of one window and process in several
/// formats lack the same: it is said, and counted, once.
void add_missing(recording::Summary& made, const std::vector<exporter::WrittenFile>& files) {
  std::vector<exporter::WrittenFile> firsts;
  for (const exporter::WrittenFile& file : files)
    if (file.format == files.front().format) firsts.push_back(file);
  std::map<std::string, std::size_t> reported;
  for (const exporter::WrittenFile& file : files)
    for (const std::string& message : file.missing) {
      if (file.format != files.front().format && is_reported_of(firsts, message)) continue;
      ++reported[message];
      exporter::merge_message(made.missing, message);
    }
  for (std::string& message : made.missing)
    if (const auto found = reported.find(message);
        found != reported.end() && found->second < firsts.size())
      message += fmt::format(messages::session::kOfFiles, found->second, firsts.size());
}

void add_files(recording::Summary& made, const std::vector<exporter::WrittenFile>& files) {
  std::map<std::string, std::uint64_t> kinds;
  for (const exporter::WrittenFile& file : files) {
    made.files.push_back(recording::SummaryFile{file.path, file.format, file.pid, file.window,
                                                file.bytes, file.events, file.steps});
    made.simulated = made.simulated || file.simulated;
    // Another format tells of the same events.
    if (file.format != files.front().format) continue;
    for (const auto& [kind, count] : file.events_by_kind) kinds[kind] += count;
  }
  made.events_by_kind.assign(kinds.begin(), kinds.end());
  add_missing(made, files);
}

using Counts = std::map<std::string, std::uint64_t>;

void add_counts(Counts& to, Target& target) {
  for (const auto& [reason, count] : target.losses().totals())
    to[std::string(model::loss_name(reason))] += count;
  if (const std::uint64_t lost = target.writer().events_lost(); lost != 0)
    to[std::string(model::loss_name(model::LossReason::kSpoolFull))] += lost;
}

/// Of a process with files. What is said of a file already, with the number of files or of what is
/// missing, is not said again.
void add_traced(recording::Summary& made, Target& target,
                const std::vector<exporter::WrittenFile>& files) {
  for (const std::string& message : target.missing())
    if (!is_reported_of(files, message)) add_once(made.missing, message);
  if (!target.end_message().empty()) add_once(made.remarks, target.end_message());
  if (!made.overhead.sampler.empty()) return;
  made.overhead.sampler =
      sampler_text(target.stats().stats().sampler.load(std::memory_order_relaxed));
  made.overhead.effective_rate_hz = static_cast<double>(target.stats().rate_millihertz()) / 1000;
}

}  // namespace

recording::Summary Session::summary(std::uint64_t now_ns) {
  recording::Summary made;
  made.version = setup_.options.version;
  made.host = setup_.host;
  made.name = setup_.options.name;
  made.output = folder_.output();
  made.duration_ns = now_ns - opened_ns_;
  made.peers_refused = peers_refused_;
  std::set<ProcessId> traced;
  for (const std::size_t i : selected_targets_) traced.insert(targets_[i]->identity().id());
  made.processes_traced = traced.size();
  add_files(made, files_);
  for (const model::Window& w : windows_)
    made.windows.push_back(
        recording::SummaryWindow{w.index, w.start_ns, w.end_ns, w.first_label, w.steps, w.why});
  add_processes(made);
  made.overhead.daemon_cpu_ns = own_cpu_ns();
  made.overhead.daemon_peak_bytes = own_peak_bytes();
  for (std::size_t i = 0; i < targets_.size(); ++i) add_lost_image(made, i);
  add_unrecorded(made);
  add_ending(made);
  made.failures = failures_;
  made.complete = failures_.empty();
  made.open_with = exporter::viewer_instructions(
      made.files, setup_.options.output_is_pattern ? "" : folder_.output());
  return made;
}

void Session::add_processes(recording::Summary& made) {
  Counts drops, ring_drops;
  const std::vector<Candidate> all = candidates();
  // One process may have had several images (exec): those with a file are listed, or the best.
  const std::vector<std::size_t> images = select_processes(all, true);
  std::set<ProcessId> seen(processes_refused_.begin(), processes_refused_.end());
  seen.insert(processes_forgotten_.begin(), processes_forgotten_.end());
  for (const std::size_t i : images) seen.insert(all[i].id());
  made.processes_seen = seen.size();
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    Target& target = *targets_[i];
    add_overhead(made.overhead, target);
    add_limited(made, target);
    if (std::find(images.begin(), images.end(), i) == images.end()) continue;
    made.processes.push_back(process_of(target, role_of(all, selected_targets_, i)));
    if (made.processes.back().role == "traced") {
      add_counts(drops, target);
      for (const auto& [what, count] : target.stats().drops_by_kind()) ring_drops[what] += count;
      add_traced(made, target, files_);
    }
    if (!target.writer().ok()) add_failure(target.writer().failure());
  }
  made.drops_by_reason.assign(drops.begin(), drops.end());
  made.ring_drops_by_kind.assign(ring_drops.begin(), ring_drops.end());
}

/// Who has no file and why.
void Session::add_unrecorded(recording::Summary& made) const {
  if (!processes_refused_.empty())
    made.missing.push_back(
        fmt::format(messages::session::kProcessesNotRecorded,
                    support::count_with_unit(processes_refused_.size(), "process", "processes")));
  if (!without_descriptor_.empty())
    made.missing.push_back(fmt::format(messages::session::kNoDescriptorLeft,
                                       support::human_count(without_descriptor_.size())));
  if (!processes_forgotten_.empty())
    made.remarks.push_back(
        fmt::format(messages::session::kShortProcesses,
                    support::count_with_unit(processes_forgotten_.size(), "short process was",
                                             "short processes were"),
                    kMaxProcesses));
  for (const std::string& message :
       unrecorded_.messages([this](auto pid) { return has_connected(pid); }))
    made.missing.push_back(message);
  for (const std::uint32_t uid : users_refused_)
    made.missing.push_back(fmt::format(messages::session::kOtherUser, uid, ::getuid()));
  if (made.files.empty() && !windows_.empty() && selected_pids_.empty() && !targets_.empty())
    made.missing.push_back(messages::session::kWindowsTooEarly);
}

void Session::add_ending(recording::Summary& made) const {
  const std::string steps = leader_ != nullptr ? steps_message() : "";
  if (!steps.empty()) made.remarks.push_back(steps);
  made.stopped = stopped_by_command_ || interrupted_;
  made.terminated = terminated_;
  if (interrupted_ && !made.files.empty()) made.remarks.push_back(messages::session::kInterrupted);
  if (stopped_by_command_) made.remarks.push_back(messages::session::kStopped);
  for (const auto& [key, message] : remarks_) add_once(made.remarks, message);
}

std::string Session::steps_message() const {
  const std::uint64_t count = leader_->counts().steps;
  const std::string& what = leader_->steps_description();
  if (what.empty()) return matches_message(count);
  return counted_to_the_end_ ? fmt::format(messages::session::kSteps, count, what)
                             : fmt::format(messages::session::kStepsUntilLastWindow, count, what);
}

/// Of steps that the option names itself; "" of others.
std::string Session::matches_message(std::uint64_t steps) const {
  const auto step = recording::parse_step(setup_.options.step);
  using Source = recording::StepSpec::Source;
  if (!step.ok() ||
      (step.value().source != Source::kNvtx && step.value().source != Source::kKernel))
    return "";
  const std::string matching =
      support::count_with_unit(steps, "step that matches", "steps that match");
  return counted_to_the_end_
             ? fmt::format(messages::session::kSteps, matching, setup_.options.step)
             : fmt::format(messages::session::kStepsUntilLastWindow, matching, setup_.options.step);
}

/// What failed for several processes or files is reported once.
void Session::add_failure(const std::string& message) { add_once(failures_, message); }

void Session::add_lost_image(recording::Summary& made, std::size_t index) const {
  const Target::Identity& identity = targets_[index]->identity();
  const auto lost = lost_images_.find(identity.spool_file);
  if (lost == lost_images_.end() || lost->second.empty()) return;
  // A later exec may have brought the library back.
  for (std::size_t later = index + 1; later < targets_.size(); ++later)
    if (targets_[later]->identity().id() == identity.id()) return;
  add_once(made.missing, lost->second);
}

bool Session::anything_stored() const {
  return std::any_of(targets_.begin(), targets_.end(),
                     [](const auto& target) { return target->writer().events_written() != 0; });
}

void Session::finish(std::uint64_t now_ns) {
  log_->ended(failures_.empty() ? "complete" : "with failures");
  // Nobody reads it where all files are written.
  if (!failures_.empty() && !log_->failure().empty()) add_failure(log_->failure());
  recording::Summary made = summary(now_ns);
  if (!made.complete && anything_stored()) {
    made.spool_folder = folder_.path();
  } else {
    folder_.remove();
  }
  send_summary(made);
  state_ = State::kFinished;
  spdlog::info("session ended: {} files, {} windows", made.files.size(), made.windows.size());
}

void Session::send_summary(const recording::Summary& made) {
  if (!client_) return;
  const std::string text = recording::to_json(made);
  for (std::size_t at = 0; at < text.size(); at += kSummaryPart) {
    const std::string part = text.substr(at, kSummaryPart);
    const bool more = at + kSummaryPart < text.size();
    client_->send(wire::Summary{static_cast<std::uint32_t>(part.size()), more ? 1u : 0u}, part);
  }
  // The daemon may end with this session: what is queued now would never be sent.
  client_->flush_blocking(kSummaryWaitMs);
}

}  // namespace gpuprof::session
