// SPDX-License-Identifier: Apache-2.0
//
// Classifier: rows, their names, and arrows between them.
//
// Context:  cli through analysis/commands
#include <algorithm>
#include <utility>

#include "analysis/import/classify/classify.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::size_t kMaxProcesses = 10'000;
constexpr std::size_t kMaxNamedThreads = 100'000;
constexpr std::size_t kMaxFlows = 300'000;

/// `thread 12 (python)` of PyTorch's profiler, `python 12 (main)` of gpuprof: the name in it.
std::string thread_name(std::string_view label, std::int64_t tid) {
  const std::string number = std::to_string(tid);
  const std::string older = "thread " + number + " (";
  if (label.starts_with(older) && label.ends_with(')'))
    return std::string(label.substr(older.size(), label.size() - older.size() - 1));
  if (label.ends_with(" (main)")) label.remove_suffix(7);
  if (label.ends_with(" " + number)) label.remove_suffix(number.size() + 1);
  return label == "thread" ? std::string() : std::string(label);
}

/// Ids of arrows repeat between processes.
std::uint64_t flow_key(std::uint16_t row, std::int64_t id) {
  return static_cast<std::uint64_t>(id) ^ std::uint64_t{row} << 48;
}

}  // namespace

std::uint16_t Classifier::add_row(std::string_view text, std::optional<std::int64_t> pid) {
  if (content_.tracks.size() >= kMaxProcesses) return 0;
  PidTrack& row = content_.tracks.emplace_back();
  const PidLabel name = parse_pid_label(text);
  row.pid = pid.value_or(name.pid);
  if (!pid) {
    row.label = name.label;
    // "CPU functions" of PyTorch's autograd profiler names no process.
    if (!text.ends_with("unctions")) row.name = text;
    row.named_role = role_of_name(text);
  }
  if (row.pid == -1) row.named_role = TrackRole::kProfilerOverhead;
  if (hints_ != nullptr)
    if (const auto known = hints_->roles.find(std::string(text)); known != hints_->roles.end())
      row.named_role = known->second;
  return static_cast<std::uint16_t>(content_.tracks.size() - 1);
}

std::uint16_t Classifier::process_of(const RawEvent& e) {
  if (last_row_ != kNoProcess && e.pid.text == last_pid_) return last_row_;
  last_pid_ = e.pid.text;
  const auto pid = e.pid.integer();
  if (pid) {
    const auto found = pids_.find(*pid);
    return last_row_ =
               found != pids_.end() ? found->second : pids_[*pid] = add_row(e.pid.text, pid);
  }
  const auto found = named_pids_.find(last_pid_);
  return last_row_ = found != named_pids_.end()
                         ? found->second
                         : named_pids_[last_pid_] = add_row(e.pid.text, std::nullopt);
}

void Classifier::backward_flow(const RawEvent& e, bool begins) {
  // One without a category is known by its name, or by what it may link.
  const EventCategory kind = kind_of(e.category.empty() ? e.name : e.category);
  const bool of_no_kind = e.category.empty() && kind == EventCategory::kUnknown;
  if (kind == EventCategory::kBackwardFlow) newer_flows_ = true;
  if (kind == EventCategory::kLaunchFlow || kind == EventCategory::kLaunchFlowOnly || of_no_kind) {
    const bool keeps =
        kind == EventCategory::kLaunchFlowOnly || (hints_ != nullptr && hints_->keep_flows);
    if (keeps) return launch_flow(e, begins);
    ++content_.dropped_flows;
    return of_no_kind ? skip(e, SkipReason::kUnknownKind) : void();
  }
  if (kind == EventCategory::kDuplicate ||
      (kind == EventCategory::kOldBackwardFlow && newer_flows_))
    return;
  if (kind != EventCategory::kBackwardFlow && kind != EventCategory::kOldBackwardFlow)
    return skip(e, SkipReason::kUnknownKind);
  const auto id = e.id.integer();
  if (!id) return skip(e, SkipReason::kMissingArgs);
  if (start(e, ParsedKind::kBackwardFlow, false) == nullptr) return;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  record_.flow = {*id, 0};
  const std::uint64_t key = flow_key(record_.process, *id);
  if (begins) {
    if (flows_.size() < kMaxFlows) flows_[key] = record_.tid;
    return add_current();
  }
  const auto from = flows_.find(key);
  if (from == flows_.end()) return skip(e, SkipReason::kUnpaired);
  record_.flow.forward_tid = from->second;
  flows_.erase(from);
  add_current();
}

/// From what launched something to what was launched, where nothing else says so.
void Classifier::launch_flow(const RawEvent& e, bool begins) {
  const auto id = parse_uint64(e.id.text);
  if (!id) return skip(e, SkipReason::kMissingArgs);
  if (start(e, begins ? ParsedKind::kLaunchFlow : ParsedKind::kWorkFlow, false) == nullptr) return;
  record_.process = process_of(e);
  record_.tid = tid_of(e);
  record_.link = {*id};
  content_.keeps_flows = true;
  add_current();
}

void Classifier::set_role_by_name(const RawEvent& e, std::string_view name) {
  const TrackRole role = role_of_name(name);
  if (role == TrackRole::kUnknown) return;
  PidTrack& row = content_.tracks[process_of(e)];
  // A process may have the number of a device.
  if (row.named_role != TrackRole::kHost) row.named_role = role;
}

void Classifier::metadata(const RawEvent& e) {
  if (e.name == "process_labels") return set_role_by_name(e, e.text(Arg::kLabels));
  if (e.name == "process_name") {
    const std::string_view name = e.text(Arg::kName);
    set_role_by_name(e, name);
    PidTrack& row = content_.tracks[process_of(e)];
    if (row.name.empty() || !row.label.empty())
      row.name = row.label.empty() ? std::string(name) : row.label + " " + std::string(name);
    return;
  }
  const auto tid = e.tid.integer();
  if (e.name != "thread_name" || !tid) return;
  const std::string_view label = e.text(Arg::kName);
  const std::uint16_t index = process_of(e);
  PidTrack& row = content_.tracks[index];
  if (label.starts_with("stream ") && label.ends_with(" (default)"))
    content_.null_streams[{row.pid, *tid}] = true;
  if (label.ends_with(" (samples)") || *tid < 0 || *tid >= kFirstSyntheticTid) return;
  if (row.threads.size() < kMaxNamedThreads && !label.starts_with("stream "))
    row.threads[static_cast<std::uint32_t>(*tid)] = thread_name(label, *tid);
}

/// Where not a single event is of a kind that is known, the trace is of something else.
void Classifier::skip_guesses() {
  if (any_known_ || content_.guessed.empty()) return;
  const ImportStats& account = content_.account;
  for (const auto& [guess, count] : content_.guessed)
    content_.account.move_to_skipped(SkipReason::kUnknownKind, guess.first,
                                     std::min(count, account.count_imported()));
  content_.guessed.clear();
  content_.sorter.clear();
}

std::optional<FirstPassHints> Classifier::finish() {
  if (repeated_ != 0)
    content_.account.count_duplicates(repeated_kind_, std::exchange(repeated_, 0));
  for (const auto& [of, count] : counters_)
    content_.account.count_skipped(SkipReason::kUnsupportedInstant, of, count);
  const auto [frames, blocked] = samples_.unended();
  content_.account.move_to_skipped(SkipReason::kUnpaired, "cpu_sample", frames);
  content_.account.move_to_skipped(SkipReason::kUnpaired, "cpu_sample_blocked", blocked);
  for (const auto& [key, begun] : begun_)
    content_.account.move_to_skipped(SkipReason::kUnpaired, begun.category);
  begun_.clear();
  emit_steps();
  skip_guesses();
  if (hints_ != nullptr) return std::nullopt;
  FirstPassHints foreseen;
  bool again = false;
  const auto see = [&](const std::string& pid, std::uint16_t index) {
    const PidTrack& row = content_.tracks[index];
    if (!row.assumed_role) return;
    const TrackRole role = current_role(row);
    foreseen.roles[pid] = role;
    again = again || row.role_changed || *row.assumed_role != role;
  };
  for (const auto& [pid, row] : pids_) see(std::to_string(pid), row);
  for (const auto& [pid, row] : named_pids_) see(pid, row);
  foreseen.keep_flows = content_.without_launch_id != 0 && content_.dropped_flows != 0;
  if (again || foreseen.keep_flows) return foreseen;
  return std::nullopt;
}

}  // namespace gpuprof::importer
