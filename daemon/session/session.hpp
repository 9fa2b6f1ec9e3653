// SPDX-License-Identifier: Apache-2.0
//
// One session: its processes, its schedule, its windows and files, its end.
//
// Context:  daemon (ingest thread; files are written on the export worker's thread)
// Owns:     the processes, the spool folder, the client's connection
// Promises: the client hears of progress and gets one summary; what was drained is in the spool;
//           the spool goes only when every file was written
// Not here: accepting peers (server.cpp), when to record (schedule.cpp)
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/export/export.hpp"
#include "daemon/session/agent_config.hpp"
#include "daemon/session/export_worker.hpp"
#include "daemon/session/processes/join_requests.hpp"
#include "daemon/session/processes/process_selection.hpp"
#include "daemon/session/processes/unrecorded_processes.hpp"
#include "daemon/session/schedule/schedule.hpp"
#include "daemon/session/spool_folder.hpp"
#include "daemon/session/target/target.hpp"
#include "recording/session/summary.hpp"

namespace gpuprof::session {

class Session final : private TargetListener {
 public:
  struct Setup {
    recording::SessionOptions options;
    std::uint64_t key = 0;
    std::string host;
  };

  /// Makes the spool folder and log. `client` may be null (then nobody hears of progress).
  static support::Result<std::unique_ptr<Session>> open(Setup setup, EventLoop& loop,
                                                        std::unique_ptr<Connection>* client);

  /// Tells the client where agents find the daemon.
  void send_ready(const std::string& address);

  /// A process sent Hello with our key. Refuses it with a sentence if it cannot be served.
  void add_agent(std::unique_ptr<Connection> connection, const wire::Hello& hello,
                 const wire::Packet& packet, const Credentials& peer);
  void peer_refused() { ++peers_refused_; }
  /// A process of this user was joined: its children are welcome.
  bool serves(std::uint32_t uid) const { return users_joined_.contains(uid); }
  void peer_of_other_user(std::uint32_t uid);
  /// A process could not even send Hello.
  void peer_without_descriptor(const Credentials& who) {
    processes_refused_.insert({static_cast<std::uint32_t>(who.pid), 0});
    without_descriptor_.insert(static_cast<std::uint32_t>(who.pid));
  }

  /// Everything that is due at `now_ns`.
  void tick(std::uint64_t now_ns);
  /// When tick() is needed at the latest.
  std::uint64_t next_deadline() const;
  bool finished() const { return state_ == State::kFinished; }
  /// Finish now.
  void request_end() { end_requested_ = true; }
  /// The daemon was told to end (SIGTERM).
  void end_with_daemon();

  std::uint64_t key() const { return setup_.key; }
  /// Lines for `status`: the session and its processes.
  std::string status_text() const;

 private:
  static constexpr std::size_t kMaxProcesses = 1000;

  bool records() const;
  bool evict_smallest();
  bool has_connected(std::uint32_t pid) const;
  bool is_command(const Target& target) const;
  bool is_named(const Target::Identity& identity) const;
  enum class State { kRunning, kFlushing, kWriting, kFinished };
  struct PendingWindow {
    model::Window window;
    std::uint64_t token = 0;  // 0: agents not asked yet
    std::uint64_t deadline_ns = 0;
    std::uint64_t step_deadline_ns = 0;  // for slower processes to reach its last step
    std::uint32_t rounds = 0;            // drain rounds still wanted
  };

  Session(Setup setup, AgentConfig config, SpoolFolder folder,
          std::unique_ptr<spool::SessionLog> log, EventLoop& loop,
          std::unique_ptr<Connection>* client);

  // session.cpp: processes and client
  void target_step_began(Target&, std::uint64_t number, std::uint64_t ts_ns,
                         std::uint64_t label) override;
  void target_step_ended(Target&, std::uint64_t number, std::uint64_t ts_ns, bool pause) override;
  void target_first_activity(Target&, std::uint64_t ts_ns) override;
  void target_recording(Target&, bool on, std::uint64_t ts_ns) override;
  void follow_leader(Target& target);
  void watch_target(Target* target);
  void receive_from(Target* target);
  bool receive_some(Target& target, int most);
  void receive_rest(Target& target);
  void finish_gone(Target& target, std::uint64_t now_ns);
  void receive_from_client();
  void on_client_message(const wire::Packet& packet);
  void capture(const wire::Packet& packet);
  void end_requested();
  /// One that nobody named and that has ended is no failure.
  void capture_failed(std::uint32_t pid, const std::string& message);
  void target_end_requested(Target&, std::uint32_t by_pid) override;
  bool joined_targets_are_done() const;
  void client_closed();
  void command_started(std::uint32_t pid);
  Target* find_unfinished(std::uint32_t pid, std::uint64_t start_ticks);
  void finish_replaced(std::uint32_t pid, std::uint64_t start_ticks);
  bool await_status(const Target& target) const;
  std::int32_t status_of(const Target& target) const;

  // session_windows.cpp: draining, plan, cuts
  void start_clock(std::uint64_t now_ns);
  void drain(std::uint64_t now_ns);
  void do_round(std::uint64_t now_ns);
  void finish_dead_targets(std::uint64_t now_ns);
  void check_for_lost_image(const Target& target, std::uint64_t now_ns);
  void update_step_search(std::uint64_t now_ns);
  void apply_plan(std::uint64_t now_ns);
  void collect_windows();
  bool followers_are_past(PendingWindow& cut, std::uint64_t now_ns);
  void advance_windows(std::uint64_t now_ns);
  bool flush_answered(std::uint64_t token, std::uint64_t deadline_ns, std::uint64_t now_ns) const;
  void check_size(std::uint64_t now_ns);
  void remark(const std::string& key, const std::string& message);

  // session_ending.cpp: the end, files, summary
  bool should_end(std::uint64_t now_ns) const;
  std::size_t live_targets() const;
  /// Whether one of the processes still runs, recorded or not.
  bool programs_live() const;
  void begin_ending(std::uint64_t now_ns);
  void advance_ending(std::uint64_t now_ns);
  void end_targets(std::uint64_t now_ns);
  void queue_window(const model::Window& window);
  void post_window(const model::Window& window);
  void post_by_size();
  void post_last_windows();
  void window_written(const model::Window& window,
                      support::Result<std::vector<exporter::WrittenFile>> result);
  bool is_kept(std::size_t position, std::size_t count) const;
  /// Which windows get files is known at the end.
  bool keeps_last_only() const;
  std::vector<Candidate> candidates() const;
  std::vector<std::uint32_t> update_selection();
  spool::SessionView view_of_selected() const;
  std::vector<std::string> selected_spools() const;
  void send_progress(std::uint64_t now_ns);
  void finish(std::uint64_t now_ns);
  recording::Summary summary(std::uint64_t now_ns);
  void add_processes(recording::Summary& made);
  void add_unrecorded(recording::Summary& made) const;
  void add_ending(recording::Summary& made) const;
  void add_lost_image(recording::Summary& made, std::size_t index) const;
  std::string steps_message() const;
  std::string matches_message(std::uint64_t steps) const;
  void add_failure(const std::string& message);
  /// Some process has an event in its spool: else nobody could recover anything.
  bool anything_stored() const;
  void send_summary(const recording::Summary& summary);

  Setup setup_;
  AgentConfig config_;
  SpoolFolder folder_;
  std::unique_ptr<spool::SessionLog> log_;
  EventLoop& loop_;
  std::unique_ptr<Connection> client_;
  Schedule schedule_;
  std::vector<std::unique_ptr<Target>> targets_;
  std::size_t loops_looked_at_ = 0;
  Target* leader_ = nullptr;     // the first process with steps: its numbers are the session's
  std::uint64_t leader_ns_ = 0;  // when it was found
  State state_ = State::kRunning;

  JoinRequests join_requests_;
  // Running processes that get a file whatever they do; their begin, once they are joined.
  std::map<std::uint32_t, std::uint64_t> named_;
  std::string address_;  // with the session's key
  std::uint64_t opened_ns_ = 0, ending_ns_ = 0;
  bool started_ = false;
  std::uint32_t command_pid_ = 0;
  base::UniqueFd command_pidfd_;
  bool command_ended_ = false, end_requested_ = false, client_gone_ = false;
  bool stopped_by_command_ = false;  // by `gpuprof stop`
  bool terminated_ = false;          // with the daemon, while there was something left to record
  bool interrupted_ = false;         // by whoever has asked for the recording of running processes
  std::int32_t wait_status_ = -1;
  std::uint64_t command_ended_ns_ = 0;

  std::uint64_t last_round_ns_ = 0, last_flush_ns_ = 0, drain_until_ns_ = 0;
  std::uint64_t next_token_ = 1;
  std::deque<PendingWindow> pending_windows_;
  AgentPlan sent_plan_;
  std::uint64_t flush_token_ = 0, flush_deadline_ns_ = 0;

  std::vector<model::Window> windows_;  // all that were cut
  bool whole_run_pending_ = false;
  bool size_reached_ = false;
  bool counted_to_the_end_ = true;  // of the command: steps
  std::vector<std::uint32_t> selected_pids_;
  std::vector<std::size_t> selected_targets_;
  std::vector<std::string> logged_spools_;  // the choice as the log has it
  std::vector<exporter::WrittenFile> files_;
  std::vector<Remark> remarks_;
  std::vector<std::string> failures_;
  std::map<std::string, std::string> lost_images_;  // spool file → why no image follows it
  std::set<std::uint32_t> users_refused_;           // the first few
  std::set<std::uint32_t> users_joined_;
  std::uint64_t peers_refused_ = 0;
  std::set<ProcessId> processes_refused_;       // one may ask again
  std::set<std::uint32_t> without_descriptor_;  // of them, as we had none for it
  std::set<ProcessId> processes_forgotten_;     // counted only
  std::uint64_t spools_ = 0;
  UnrecordedProcesses unrecorded_;
  std::atomic<std::uint64_t> progress_done_{0}, progress_total_{0};
  std::uint64_t progress_sent_ns_ = 0;
  // Last: its thread is gone before anything it may touch.
  std::unique_ptr<ExportWorker> worker_;
};

}  // namespace gpuprof::session
