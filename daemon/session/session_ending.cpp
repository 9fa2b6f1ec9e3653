// SPDX-License-Identifier: Apache-2.0
//
// How a session ends: the last flush, the files.
//
// Context:  daemon (ingest thread; the jobs of post_… on the export worker's thread)
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "daemon/messages/schedule.hpp"
#include "daemon/messages/session.hpp"
#include "daemon/session/session.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/process/out_of_memory.hpp"

namespace gpuprof::session {
namespace {

/// A process that said hello and died at once is still in the listening queue when the client
/// reports the command's end.
constexpr std::uint64_t kGraceNs = 20'000'000;
constexpr std::uint64_t kLastFlushNs = 1'500'000'000;
constexpr std::uint64_t kProgressPeriodNs = 100'000'000;
/// Where it is worth a word that each window is a file.
constexpr std::size_t kManyWindows = 1000;

bool gone(const base::UniqueFd& pidfd) {
  if (!pidfd) return true;
  pollfd one{pidfd.get(), POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

}  // namespace

std::size_t Session::live_targets() const {
  return static_cast<std::size_t>(std::count_if(
      targets_.begin(), targets_.end(), [](const auto& target) { return !target->finished(); }));
}

// The client reports the end when it is its to report (-w all: of the last descendant). Without
// a client the command itself is watched.
bool Session::should_end(std::uint64_t now_ns) const {
  if (end_requested_) return true;
  if (setup_.options.running_processes) return joined_targets_are_done();
  if (command_ended_) return now_ns - command_ended_ns_ >= kGraceNs;
  if (!client_gone_ || !gone(command_pidfd_)) return false;
  return setup_.options.wait_for != "all" || live_targets() == 0;
}

// A session of running processes ends with its schedule, with the last of them, or with whoever
// asked for it.
bool Session::joined_targets_are_done() const {
  if (client_gone_) return true;
  if (!join_requests_.is_complete() || join_requests_.pending()) return false;
  return live_targets() == 0 || (schedule_.done() && pending_windows_.empty());
}

bool Session::programs_live() const {
  return std::any_of(targets_.begin(), targets_.end(),
                     [](const auto& target) { return !target->process_gone(); });
}

void Session::begin_ending(std::uint64_t now_ns) {
  ending_ns_ = command_ended_ns_ != 0 ? command_ended_ns_ : now_ns;
  state_ = State::kFlushing;
  counted_to_the_end_ = !schedule_.done();
  flush_token_ = next_token_++;
  flush_deadline_ns_ = now_ns + kLastFlushNs;
  for (const auto& target : targets_) {
    if (target->finished()) continue;
    if (target->process_gone())
      finish_gone(*target, now_ns);
    else
      target->request_flush(flush_token_, true);
  }
}

void Session::end_targets(std::uint64_t now_ns) {
  // A window is still open, or was kept for the end; else all files are being written already.
  const bool writes = counted_to_the_end_ || keeps_last_only() || whole_run_pending_;
  for (const auto& target : targets_) {
    if (target->finished()) continue;
    if (writes) target->check_flush(flush_token_, messages::session::kLastWindow, now_ns);
    target->stop();
    receive_rest(*target);
    target->finish(target->process_gone() ? Target::End::kVanished : Target::End::kStillRunning, -1,
                   now_ns);
  }
  const bool ended = command_ended_ns_ != 0 || !programs_live();
  const char* const cut_by = interrupted_          ? "interrupted"
                             : stopped_by_command_ ? "gpuprof stop"
                             : ended               ? "program ended"
                                                   : "recording ended";
  schedule_.finish(ending_ns_, cut_by);  // where no turn of the schedule ended just then
  collect_windows();
}

void Session::advance_ending(std::uint64_t now_ns) {
  if (state_ == State::kFlushing && pending_windows_.empty() &&
      flush_answered(flush_token_, flush_deadline_ns_, now_ns)) {
    end_targets(now_ns);
    state_ = State::kWriting;
    advance_windows(now_ns);
    update_selection();
    if (whole_run_pending_)
      post_by_size();
    else if (keeps_last_only())
      post_last_windows();
  }
  if (state_ != State::kWriting) return;
  send_progress(now_ns);
  if (worker_->pending() == 0) finish(now_ns);
}

bool Session::is_kept(std::size_t position, std::size_t count) const {
  const std::string& keep = setup_.options.keep;
  const std::size_t colon = keep.find(':');
  if (colon == std::string::npos) return true;
  const std::size_t wanted = std::stoul(keep.substr(colon + 1));
  return keep[0] == 'f' ? position < wanted : position + wanted >= count;
}

bool Session::keeps_last_only() const { return setup_.options.keep.rfind("last:", 0) == 0; }

// Files of a window are begun as soon as it is complete; only `last:N` must know the end first.
void Session::queue_window(const model::Window& window) {
  if (!keeps_last_only() && !is_kept(windows_.size(), 0)) return;
  windows_.push_back(window);
  log_->window(window);
  if (windows_.size() == kManyWindows && !keeps_last_only())
    remark("windows", fmt::format(messages::session::kManyWindows, kManyWindows));
  if (!keeps_last_only()) {
    update_selection();
    post_window(window);
  }
  const bool enough = !keeps_last_only() && !is_kept(windows_.size(), 0);
  if (enough && !schedule_.done()) schedule_.abandon();
}

std::vector<std::string> Session::selected_spools() const {
  std::vector<std::string> files;
  for (const std::size_t i : selected_targets_) files.push_back(targets_[i]->identity().spool_file);
  return files;
}

/// The session as exporters see it, without the images that get no file.
spool::SessionView Session::view_of_selected() const {
  spool::SessionView view;
  view.folder = folder_.path();
  view.host = setup_.host;
  view.options = setup_.options;
  view.selected = selected_pids_;
  view.remarks = remarks_;
  for (const std::size_t i : selected_targets_) {
    const Target::Identity& identity = targets_[i]->identity();
    view.processes.push_back({identity.pid, folder_.path() + "/" + identity.spool_file});
    view.processes.back().truncated_at_ns = targets_[i]->writer().lost_from_ns();
    view.processes.back().bytes = targets_[i]->writer().bytes_written();
  }
  return view;
}

void Session::post_window(const model::Window& window) {
  worker_->post([this, window, view = view_of_selected()]() -> std::function<void()> {
    auto result = exporter::write_window(view, window, view.selected, [this](auto done, auto all) {
      progress_done_.store(done, std::memory_order_relaxed);
      progress_total_.store(all, std::memory_order_relaxed);
    });
    return [this, window, result = std::move(result)] { window_written(window, result); };
  });
}

// The first of them has no file before it that could tell.
void Session::post_last_windows() {
  bool first = true;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (!is_kept(i, windows_.size())) continue;
    model::Window window = windows_[i];
    if (std::exchange(first, false)) window.losses_from_ns = 0;
    post_window(window);
  }
}

void Session::post_by_size() {
  worker_->post([this, view = view_of_selected()]() -> std::function<void()> {
    using Windows = std::vector<model::Window>;
    auto result = support::catch_out_of_memory(messages::session::kSplitIntoFiles, [&] {
      return exporter::split_by_event_count(view, view.selected);
    });
    return [this, result = std::move(result)] {
      if (!result) {
        add_failure(result.error().message);
        return;
      }
      const Windows& windows = result.value();
      for (std::size_t i = 0; i < windows.size(); ++i) {
        if (!is_kept(i, windows.size())) continue;
        windows_.push_back(windows[i]);
        log_->window(windows[i]);
        post_window(windows[i]);
      }
    };
  });
}

void Session::window_written(const model::Window& window,
                             support::Result<std::vector<exporter::WrittenFile>> result) {
  if (!result) {
    add_failure(result.error().message);
    spdlog::error("window {}: {}", window.index, result.error().message);
    return;
  }
  for (exporter::WrittenFile& file : result.value()) files_.push_back(std::move(file));
}

std::vector<Candidate> Session::candidates() const {
  std::vector<Candidate> all;
  for (const auto& target : targets_) {
    const ingest::EventCounts& counts = target->counts();
    const Target::Identity& identity = target->identity();
    all.push_back(Candidate{identity.pid, identity.ppid, identity.start_ticks, is_named(identity),
                            target->used_cuda(), target->worked_on_gpu(), target->serves(),
                            identity.rank, counts.operators, counts.steps, counts.ranges,
                            counts.samples, counts.cpu_ns});
  }
  return all;
}

std::vector<std::uint32_t> Session::update_selection() {
  selected_targets_ = select_processes(candidates(), setup_.options.all_processes);
  selected_pids_.clear();
  for (const std::size_t i : selected_targets_) {
    const std::uint32_t pid = targets_[i]->identity().pid;
    if (std::find(selected_pids_.begin(), selected_pids_.end(), pid) == selected_pids_.end())
      selected_pids_.push_back(pid);
  }
  std::vector<std::string> spools = selected_spools();
  if (spools != logged_spools_) log_->selected(selected_pids_, spools);
  logged_spools_ = std::move(spools);
  return selected_pids_;
}

void Session::send_progress(std::uint64_t now_ns) {
  if (!client_ || now_ns - progress_sent_ns_ < kProgressPeriodNs) return;
  progress_sent_ns_ = now_ns;
  if (state_ == State::kRunning) {
    const std::string text = schedule_.progress_text();
    client_->send(wire::Progress{0, 0, static_cast<std::uint32_t>(text.size()), 0}, text);
    return;
  }
  const std::size_t windows = worker_->pending();
  const std::string text = windows < 2 ? messages::schedule::kWritingTrace
                                       : fmt::format(messages::schedule::kWritingWindows, windows);
  client_->send(wire::Progress{progress_done_.load(std::memory_order_relaxed),
                               progress_total_.load(std::memory_order_relaxed),
                               static_cast<std::uint32_t>(text.size()), 0},
                text);
}

}  // namespace gpuprof::session
