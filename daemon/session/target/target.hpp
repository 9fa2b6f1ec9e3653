// SPDX-License-Identifier: Apache-2.0
//
// One process with an agent in it, as the session sees it.
//
// Context:  daemon (ingest thread)
// Owns:     its segment, connection, pidfd and spool file
// Promises: whatever was published before the process ended reaches its spool; nothing it sends
//           can throw, stall or grow without bound; once finished it keeps results only, and no
//           descriptor but of a process that lives on
// Not here: when to record (schedule.hpp), when to cut (session.cpp)
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/ingest/assembler.hpp"
#include "daemon/ingest/decode/shared_segment.hpp"
#include "daemon/ingest/decode/stats_poller.hpp"
#include "daemon/session/io/connection.hpp"
#include "daemon/session/processes/process_selection.hpp"
#include "daemon/session/schedule/schedule.hpp"
#include "daemon/session/target/drain_pace.hpp"
#include "daemon/session/target/overhead_monitor.hpp"
#include "daemon/session/target/text_limiter.hpp"
#include "recording/model/notice_log.hpp"
#include "recording/spool/spool.hpp"

namespace gpuprof::session {

class Target;

/// What the session hears from its processes.
class TargetListener {
 public:
  virtual void target_step_began(Target& target, std::uint64_t number, std::uint64_t ts_ns,
                                 std::uint64_t label) = 0;
  virtual void target_step_ended(Target& target, std::uint64_t number, std::uint64_t ts_ns,
                                 bool pause) = 0;
  virtual void target_first_activity(Target& target, std::uint64_t ts_ns) = 0;
  /// Somebody at the process's control socket, process `by_pid` as that one sees it, wants the
  /// session to end.
  virtual void target_end_requested(Target& target, std::uint32_t by_pid) = 0;
  /// Everything asked for is on since ts_ns, or off.
  virtual void target_recording(Target& target, bool on, std::uint64_t ts_ns) = 0;

 protected:
  ~TargetListener() = default;
};

class Target final : private ingest::StepListener {
 public:
  enum class End { kAlive, kSentBye, kVanished, kStillRunning, kReplaced };

  struct Identity {
    std::uint32_t pid = 0, ppid = 0;
    std::uint64_t start_ticks = 0;
    std::uint32_t wake_reasons = 0;
    std::string exe, command_line;
    std::string spool_file;  // within the session's folder
    std::string rank;        // "VARIABLE=N" of its launcher; "": none

    ProcessId id() const { return {pid, start_ticks}; }
  };

  /// Makes segment and spool for a process that said hello.
  static support::Result<std::unique_ptr<Target>> create(const wire::Hello& hello,
                                                         Identity identity,
                                                         const std::string& spool_path,
                                                         std::uint64_t segment_bytes,
                                                         TargetListener& events);
  ~Target();

  /// Takes the connection and sends the settings with the segment.
  bool connect(std::unique_ptr<Connection> connection, const wire::Config& config,
               const std::string& step_text);
  /// The same agent with a new connection; it keeps segment and plan.
  void reconnect(std::unique_ptr<Connection> connection, const wire::Config& config,
                 const std::string& step_text);
  /// What its steps are to be found among. Before connect().
  void look_for_steps(const ingest::StepSearch& search) { assembler_->set_step_search(search); }
  /// --max-overhead. Before connect().
  void set_overhead_limit(std::uint64_t limit_ppm, std::vector<Reduction> reductions);
  /// Takes a reduction where what recording costs is above the limit.
  void check_overhead(std::uint64_t now_ns);
  /// There may be steps, but what they are is not known yet.
  bool steps_undecided() const { return !finished_ && assembler_->steps_undecided(); }
  std::size_t loops_seen() const { return finished_ ? 0 : assembler_->loop_count(); }
  /// No more is needed to choose than what is there.
  void choose_steps(std::uint64_t now_ns, bool last = false);
  /// What its steps are; empty: there are none, or the option said what.
  const std::string& steps_description() const { return what_steps_are_; }

  /// Watches the process itself, so that its death is noticed whatever the socket says.
  void watch_death(EventLoop& loop, std::function<void()> on_death);

  /// One message of the agent (any but the first Hello).
  void on_message(const wire::Packet& packet);
  /// It sends faster than it is read, or others do with its socket, and it is over.
  void report_unread_messages(std::uint64_t now_ns);
  /// The connection is closed; threads of the process may still push.
  void disconnected(std::uint64_t now_ns);

  void set_plan(const AgentPlan& plan, bool has_own_steps);
  /// Takes what the ring buffers hold.
  void drain(std::uint64_t now_ns);
  /// When to do so next.
  std::uint64_t drain_due_ns() const { return last_drain_ns_ + pace_.period_ns(); }
  /// Behind a drain: joins what has waited a round.
  void end_round(std::uint64_t now_ns);
  /// Reports sources of CUPTI's records that deliver nothing although they are switched on, and
  /// that they deliver again.
  /// @param last  A forced flush has ended, and nothing more is expected.
  void check_delivery(std::uint64_t now_ns, bool last = false);
  /// The next rounds wait for no clock reading.
  void hurry();
  void flush_spool();
  /// A window is complete: what it lost and what is open in it is written, too.
  void complete_window(std::uint64_t now_ns);

  void request_flush(std::uint64_t token, bool forced);
  bool flush_pending(std::uint64_t token) const {
    return answered_token_ < token && token <= requested_token_;
  }
  /// A file is about to be written that ends at `end_ns`, for which that flush was asked. Says so
  /// if what CUPTI held may not be in it. Before
  /// complete_window() or finish().
  /// @param what  Of the process goes to that file: "window 3".
  void check_flush(std::uint64_t token, const std::string& what, std::uint64_t end_ns);
  void stop();
  /// Drains, closes everything open and ends the spool. Nothing may follow.
  void finish(End how, std::int32_t wait_status, std::uint64_t now_ns);

  const Identity& identity() const { return identity_; }
  bool finished() const { return finished_; }
  bool connected() const { return connection_ != nullptr && !connection_->closed(); }
  Connection* connection() { return connection_.get(); }
  std::uint64_t disconnected_ns() const { return disconnected_ns_; }
  bool process_gone() const;
  bool sent_bye() const;
  /// The agent has left this session; the process lives on.
  bool has_detached() const { return detaches_; }
  /// Its worker is parked for a fork: the connection is closed, the agent is not.
  bool parked() const;
  bool wants_draining() const { return !finished_ && mode_ != wire::AgentState::kArmed; }
  bool has_steps() const { return has_steps_; }
  struct Interval {
    std::uint64_t ts_ns;
    bool on;
  };
  /// It was told to record, or says that it does.
  bool records() const {
    return !finished_ &&
           (mode_ == wire::AgentState::kRecording || (!recorded_.empty() && recorded_.back().on));
  }
  /// When recording went on and off, the newest ones.
  const std::vector<Interval>& recorded() const { return recorded_; }
  /// Number of the last step that began.
  std::uint64_t latest_step() const { return latest_step_; }
  /// Initialised CUDA at least.
  bool used_cuda() const;
  /// Made a context, launched, or has GPU events.
  bool worked_on_gpu() const;
  /// A data loader's or a compiler's worker.
  bool serves() const { return serves_ || (assembler_ && assembler_->is_worker_process()); }
  End end() const { return end_; }
  /// Of a process that ended without a good-bye, where nothing of it is missing; "" else.
  const std::string& end_message() const { return how_it_ended_; }
  const ingest::EventCounts& counts() const {
    return assembler_ ? assembler_->counts() : final_counts_;
  }
  const ingest::LossCounters& losses() const {
    return assembler_ ? assembler_->losses() : final_losses_;
  }
  const ingest::StatsPoller& stats() const { return poller_; }
  spool::ProcessWriter& writer() { return *writer_; }
  /// Null where nothing is measured.
  const OverheadMonitor* overhead() const { return overhead_ ? &*overhead_ : nullptr; }
  struct AppliedReduction {
    std::uint32_t tid = 0;
    std::uint64_t since_ns = 0;  // CLOCK_MONOTONIC
    std::uint64_t share_ppm = 0;
    std::string what;  // "" where nothing was left to leave out
  };
  const std::vector<AppliedReduction>& applied_reductions() const { return left_out_; }
  std::uint64_t start_ns() const { return start_ns_; }
  /// Sentences about what is missing, without those that a later one stands in the place of.
  std::vector<std::string> missing() const { return notices_.missing(identity_.pid); }

 private:
  Target(ingest::SharedSegment segment, std::unique_ptr<spool::ProcessWriter> writer,
         Identity identity, TargetListener& events);

  void step_began(std::uint64_t number, std::uint64_t ts_ns, std::uint64_t label) override;
  void step_ended(std::uint64_t number, std::uint64_t ts_ns, bool pause) override;
  void first_activity(std::uint64_t ts_ns) override;
  void step_rule(wire::StepRule rule, std::uint64_t key, std::uint32_t tid) override;
  void steps_described(const std::string& what) override { what_steps_are_ = what; }

  bool is_due(const AgentPlan& plan) const;
  void on_hello_again(const wire::Packet& packet);
  void on_module(const wire::Packet& packet);
  void on_text_message(const wire::Packet& packet);
  void track_handover(std::uint32_t code, std::uint64_t ts_ns);
  void note_rank(std::string_view key, std::string_view value);
  void on_notice(const wire::Packet& packet, const wire::Notice& notice);
  void report_lost_texts(std::uint64_t now_ns, bool last);
  void on_state(wire::StateReport report);
  void apply_reduction(const Governor::Decision& step, std::uint64_t now_ns);
  void report_reduction(const Governor::Decision& step, std::uint64_t now_ns);
  void write_overhead();
  void write_process();
  void report_decoder_losses();
  void release_ingest();
  void release_process();
  /// The begin of what it was told to record, or all of it, was missed by that much.
  void report_late_start(std::uint64_t missed_ns, bool began, std::uint64_t now_ns);
  void report_missed_flush(std::uint64_t now_ns);
  void report_late_switch(std::uint64_t now_ns);
  void report_unsent_messages(std::uint64_t now_ns);
  void report_interrupted_waits(std::uint64_t now_ns);
  void report_unfollowed_calls(std::uint64_t now_ns);
  void report_lost_marks(std::uint64_t now_ns, bool last);
  void report_silence(ingest::CuptiSource source, std::uint64_t now_ns);
  void report_delivery_resumed(ingest::CuptiSource source, std::uint64_t now_ns);
  void report_missing(wire::Feature feature, const std::string& text, std::uint64_t now_ns,
                      std::uint32_t code = 0);
  std::string exit_text(End how, std::int32_t wait_status) const;
  void report_abnormal_exit(End how, std::int32_t wait_status, std::uint64_t now_ns);

  ingest::SharedSegment segment_;
  std::unique_ptr<spool::ProcessWriter> writer_;
  Identity identity_;
  TargetListener& events_;
  // Both until it is finished: they remember up to 100 MB of one process.
  std::unique_ptr<ingest::Decoder> decoder_;
  std::unique_ptr<ingest::Assembler> assembler_;
  ingest::EventCounts final_counts_;
  ingest::LossCounters final_losses_;
  ingest::StatsPoller poller_;
  std::unique_ptr<Connection> connection_;
  base::UniqueFd pidfd_;
  EventLoop* loop_ = nullptr;
  EventLoop::Watch death_watch_ = 0;
  std::uint64_t start_ns_ = 0, start_real_ns_ = 0;
  std::uint32_t wire_minor_ = 0;
  AgentPlan plan_;
  wire::AgentState mode_ = wire::AgentState::kArmed;
  std::uint64_t sequence_ = 0;
  DrainPace pace_;
  std::uint64_t last_drain_ns_ = 0;
  std::uint64_t requested_token_ = 0,
                answered_token_ = 0;  // tokens, which grow, of the last flush and answer
  std::uint64_t flushes_missed_ = 0, late_reported_ns_ = 0;
  bool marks_reported_ = false;
  std::array<std::uint64_t, ingest::kCuptiSources> silent_since_ns_{};  // as told; 0: it is not
  bool handed_over_ = false;    // the program's own profiler has what CUPTI delivers
  bool nodes_stopped_ = false;  // in this window GPU work is left out, which was said
  bool no_subscriber_ = false;  // it keeps the one subscriber slot: no callbacks, which was said
  // Of callbacks: since when none was seen, and what the library had counted when that was noticed.
  std::uint64_t callback_silent_since_ns_ = 0, callbacks_at_silence_ = 0;
  std::uint64_t disconnected_ns_ = 0;
  std::uint64_t latest_step_ = 0;
  bool has_steps_ = false, sent_bye_ = false, detaches_ = false, finished_ = false;
  bool recording_ = false;
  bool gone_ = false;  // the process, for all time
  bool serves_ = false;
  End end_ = End::kAlive;
  ingest::DecoderCounts reported_;
  TextLimiter text_limiter_;
  bool names_reported_ = false, notices_reported_ = false;  // that some found no room
  model::NoticeLog notices_;
  std::vector<Interval> recorded_;
  std::uint64_t record_requested_ns_ = 0;  // for the first time
  std::optional<OverheadMonitor> overhead_;
  std::vector<AppliedReduction> left_out_;
  bool host_left_out_ = false;
  std::uint64_t close_at_ = 0;  // plan after which open ranges and operators are closed; 0: none
  std::string what_steps_are_;
  std::string how_it_ended_;
};

/// Bytes of both texts behind a Hello, with NULs of the command line as blanks.
Target::Identity identity_of(const wire::Hello& hello, const wire::Packet& packet,
                             const Credentials& peer);

}  // namespace gpuprof::session
