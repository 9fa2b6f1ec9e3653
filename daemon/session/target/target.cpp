// SPDX-License-Identifier: Apache-2.0
//
// The life of one target: set-up, plan, draining, end.
//
// Context:  daemon (ingest thread)
#include "daemon/session/target/target.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "daemon/messages/session_target.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/text/text.hpp"

namespace gpuprof::session {

using wire::AgentState;

support::Result<std::unique_ptr<Target>> Target::create(const wire::Hello& hello, Identity identity,
                                                        const std::string& spool_path,
                                                        std::uint64_t segment_bytes,
                                                        TargetListener& events) {
  GPUPROF_TRY(segment,
              ingest::SharedSegment::create(ingest::SharedSegment::size_for(segment_bytes), 1));
  GPUPROF_TRY(writer, spool::ProcessWriter::create(spool_path));
  std::unique_ptr<Target> target(
      new Target(std::move(segment), std::move(writer), std::move(identity), events));
  target->start_ns_ = hello.load_ns != 0 ? hello.load_ns : hello.mono_ns;
  target->start_real_ns_ = hello.real_ns - (hello.mono_ns - target->start_ns_);
  target->wire_minor_ = hello.minor;
  target->assembler_->seed_clock(hello.mono_ns, hello.real_ns);
  target->assembler_->set_process_start(target->start_ns_);
  target->write_process();
  return target;
}

Target::Target(ingest::SharedSegment segment, std::unique_ptr<spool::ProcessWriter> writer,
               Identity identity, TargetListener& events)
    : segment_(std::move(segment)),
      writer_(std::move(writer)),
      identity_(std::move(identity)),
      events_(events),
      decoder_(std::make_unique<ingest::Decoder>(segment_)),
      assembler_(
          std::make_unique<ingest::Assembler>(*writer_, static_cast<ingest::StepListener*>(this))),
      poller_(segment_) {}

Target::~Target() {
  if (loop_ != nullptr) loop_->unwatch(death_watch_);
}

void Target::write_process() {
  writer_->on(model::Process{identity_.pid, identity_.ppid, identity_.wake_reasons, wire_minor_,
                             start_ns_, start_real_ns_, identity_.exe, identity_.command_line});
  cpu_set_t processors;
  if (sched_getaffinity(static_cast<pid_t>(identity_.pid), sizeof processors, &processors) != 0)
    return;
  const std::string count = std::to_string(CPU_COUNT(&processors));
  writer_->on(model::Fact{"host.processors", count});
}

bool Target::connect(std::unique_ptr<Connection> connection, const wire::Config& config,
                     const std::string& step_text) {
  connection_ = std::move(connection);
  wire::Config sent = config;
  sent.segment_bytes = segment_.total_bytes();
  return connection_->send(sent, step_text, segment_.fd());
}

void Target::reconnect(std::unique_ptr<Connection> connection, const wire::Config& config,
                       const std::string& step_text) {
  requested_token_ = answered_token_;  // what was asked over the old one is not answered any more
  disconnected_ns_ = 0;
  connect(std::move(connection), config, step_text);
}

bool Target::parked() const { return poller_.stats().parked.load(std::memory_order_acquire) == 1; }

bool Target::sent_bye() const {
  return sent_bye_ || poller_.stats().bye.load(std::memory_order_acquire) != 0;
}

void Target::watch_death(EventLoop& loop, std::function<void()> on_death) {
  loop_ = &loop;
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, identity_.pid, 0)));
  if (!pidfd_) return;
  death_watch_ = loop.watch(pidfd_.get(), EPOLLIN, [this, on_death = std::move(on_death)](auto) {
    loop_->unwatch(death_watch_);
    death_watch_ = 0;
    if (finished_) return release_process();
    on_death();
  });
}

// Its number may soon be another's. The program that an exec brought is watched for itself.
void Target::release_process() {
  if (end_ != End::kReplaced && !process_gone()) return;
  gone_ = true;
  if (loop_ != nullptr) loop_->unwatch(death_watch_);
  death_watch_ = 0;
  pidfd_.reset();
}

bool Target::process_gone() const {
  if (gone_) return true;
  if (!pidfd_) return ::kill(static_cast<pid_t>(identity_.pid), 0) != 0 && errno == ESRCH;
  pollfd one{pidfd_.get(), POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

void Target::disconnected(std::uint64_t now_ns) {
  if (connection_) connection_->close();
  if (disconnected_ns_ == 0) disconnected_ns_ = now_ns;
}

// A target that has not counted a step yet has nothing to compare with the plan's borders, although
// steps of its were found: what the plan wants of the one that runs, or at the next one, holds.
// With that the target's count begins.
bool Target::is_due(const AgentPlan& plan) const {
  return has_steps_ && segment_.stats().steps.load(std::memory_order_relaxed) == 0 &&
         plan.on_step <= latest_step_ + 1 && latest_step_ < plan.off_step;
}

// The window is closed while its borders are moved: an agent that compares in between sees
// "no window" rather than a mix of two.
void Target::set_plan(const AgentPlan& plan, bool has_own_steps) {
  if (finished_) return;
  AgentState mode = has_own_steps ? plan.mode : plan.follower_mode;
  if (has_own_steps && mode == AgentState::kCounting && is_due(plan)) mode = AgentState::kRecording;
  const std::uint64_t offset = assembler_->steps().offset();
  const auto own = [offset](std::uint64_t step) {
    return step == wire::kNever ? step : step - std::min(step, offset);
  };
  const std::uint64_t on = has_own_steps ? own(plan.on_step) : wire::kNever;
  const std::uint64_t off = has_own_steps ? own(plan.off_step) : wire::kNever;
  if (sequence_ != 0 && mode == mode_ && on == plan_.on_step && off == plan_.off_step) return;
  wire::Plan& shared = segment_.plan();
  const bool moved = on != plan_.on_step;
  if (moved) shared.off_step.store(0, std::memory_order_relaxed);
  shared.on_step.store(on, std::memory_order_release);
  shared.off_step.store(off, std::memory_order_release);
  shared.mode.store(static_cast<std::uint32_t>(mode), std::memory_order_release);
  shared.sequence.store(static_cast<std::uint32_t>(++sequence_), std::memory_order_release);
  mode_ = mode;
  if (mode == AgentState::kRecording && record_requested_ns_ == 0) {
    // What is awake from its first moment on is recorded from there, however late it was heard.
    const bool from_start =
        sequence_ == 1 && (identity_.wake_reasons & (wire::kWakeCommand | wire::kWakePython)) != 0;
    record_requested_ns_ = from_start ? start_ns_ : base::mono_ns();
  }
  plan_.on_step = on;
  plan_.off_step = off;
  if (connected()) connection_->send(wire::PlanChanged{sequence_});
  wire::wake_agent(shared);
}

void Target::drain(std::uint64_t now_ns) {
  if (finished_) return;
  assembler_->begin_round(now_ns);
  decoder_->drain(*assembler_);
  decoder_->report_drops(*assembler_);
  pace_.drained(now_ns - last_drain_ns_, decoder_->fullest_percent());
  last_drain_ns_ = now_ns;
  report_decoder_losses();
  poller_.poll(assembler_->losses());
  segment_.plan().drain_ns.store(now_ns, std::memory_order_relaxed);
}

void Target::end_round(std::uint64_t now_ns) {
  if (finished_) return;
  assembler_->end_round(now_ns);
  report_lost_marks(now_ns, false);
}

void Target::choose_steps(std::uint64_t now_ns, bool last) {
  if (!finished_) assembler_->select_steps(now_ns, last);
}

void Target::hurry() {
  if (!finished_) assembler_->expedite();
}

void Target::flush_spool() {
  if (!finished_) writer_->flush();
}

void Target::complete_window(std::uint64_t now_ns) {
  if (finished_) return;
  report_late_switch(now_ns);
  check_delivery(now_ns, true);
  report_lost_texts(now_ns, false);
  assembler_->flush_drops();
  assembler_->write_losses(now_ns);
  assembler_->snapshot_open(now_ns);
  writer_->flush();
}

void Target::request_flush(std::uint64_t token, bool forced) {
  if (finished_ || !connected()) return;
  if (connection_->send(wire::Flush{token, forced ? 1u : 0u})) requested_token_ = token;
  wire::wake_agent(segment_.plan());
}

void Target::stop() {
  if (connected()) connection_->send(wire::Stop{0});
  wire::wake_agent(segment_.plan());
}

void Target::report_decoder_losses() {
  using model::LossReason;
  const ingest::DecoderCounts& now = decoder_->counts();
  ingest::LossCounters& losses = assembler_->losses();
  losses.add(LossReason::kUnknownRecord, 0, now.unknown_kind - reported_.unknown_kind, 0, 0);
  losses.add(LossReason::kRecordMalformed, 0, now.malformed - reported_.malformed, 0, 0);
  losses.add(LossReason::kRingCorrupt, 0, now.corrupt_rings - reported_.corrupt_rings, 0, 0);
  reported_ = now;
}

void Target::finish(End how, std::int32_t wait_status, std::uint64_t now_ns) {
  if (finished_) return;
  drain(now_ns);
  end_round(now_ns);
  assembler_->flush_drops();
  poller_.write_facts(*writer_);
  write_overhead();
  assembler_->finish(now_ns);
  // Else CUPTI kept its newest records, which is reported below.
  if (how != End::kVanished && how != End::kReplaced) check_delivery(now_ns, true);
  if (record_requested_ns_ != 0 && recorded_.empty() && decoder_->counts().records == 0)
    report_late_start(now_ns - std::min(now_ns, record_requested_ns_), false, now_ns);
  if (poller_.value(wire::Counter::kFinalFlushTimedOut) != 0) report_missed_flush(now_ns);
  report_late_switch(now_ns);
  report_lost_marks(now_ns, true);
  report_lost_texts(now_ns, true);
  if (poller_.value(wire::Counter::kMessagesUnsent) != 0) report_unsent_messages(now_ns);
  if (poller_.value(wire::Counter::kWaitsInterruptedAgain) != 0) report_interrupted_waits(now_ns);
  if (poller_.value(wire::Counter::kProgramCuptiCallsMissed) != 0) report_unfollowed_calls(now_ns);
  if (how == End::kVanished || how == End::kReplaced)
    report_abnormal_exit(how, wait_status, now_ns);
  writer_->on(model::ProcessEnd{now_ns, wait_status,
                                how == End::kSentBye    ? 0u
                                : how == End::kVanished ? 1u
                                : how == End::kReplaced ? 3u
                                                        : 2u});
  writer_->flush();
  finished_ = true;
  end_ = how;
  connection_.reset();
  release_process();
  release_ingest();
}

std::string Target::exit_text(End how, std::int32_t wait_status) const {
  if (how == End::kReplaced)
    return fmt::format(messages::session_target::kReplacedByExec, identity_.pid);
  if (wait_status >= 0 && WIFSIGNALED(wait_status))
    return fmt::format(messages::session_target::kKilled, identity_.pid,
                       support::signal_name(WTERMSIG(wait_status)));
  return fmt::format(messages::session_target::kEndedAbruptly, identity_.pid);
}

// CUPTI keeps its newest records in the process: what it had not delivered went with it.
void Target::report_abnormal_exit(End how, std::int32_t wait_status, std::uint64_t now_ns) {
  const std::uint64_t lost = assembler_->undelivered_launches();
  const std::string text = exit_text(how, wait_status);
  if (lost == 0) {
    // An exit without one: an exec led to a program that is not recorded, and that is reported.
    const bool exited = wait_status >= 0 && WIFEXITED(wait_status);
    if (how == End::kReplaced || exited) return;
    how_it_ended_ = fmt::format(messages::session_target::kKeptUntilEnd, text);
    writer_->on(model::Notice{now_ns, static_cast<std::uint32_t>(wire::Feature::kGeneral),
                              static_cast<std::uint32_t>(wire::NoticeLevel::kInfo), 0,
                              how_it_ended_});
    return;
  }
  const std::uint64_t end_ns = disconnected_ns_ != 0 ? disconnected_ns_ : now_ns;
  const std::uint64_t since_ns = std::max(assembler_->last_delivery_ns(), start_ns_);
  report_missing(wire::Feature::kCuda,
                 fmt::format(messages::session_target::kLastGpuEventsLost, text,
                             (end_ns - std::min(end_ns, since_ns) + 999'999) / 1'000'000,
                             support::count_with_unit(lost, "launch", "launches")),
                 now_ns);
}

void Target::report_missing(wire::Feature feature, const std::string& text, std::uint64_t now_ns,
                            std::uint32_t code) {
  const auto of = static_cast<std::uint32_t>(feature);
  constexpr auto kLevel = static_cast<std::uint32_t>(wire::NoticeLevel::kMissing);
  writer_->on(model::Notice{now_ns, of, kLevel, code, text});
  notices_.add(of, kLevel, code, text);
}

void Target::release_ingest() {
  final_counts_ = assembler_->counts();
  serves_ = serves();
  final_losses_ = assembler_->losses();
  decoder_.reset();
  assembler_.reset();
  poller_.take_snapshot();
  segment_.release();
  writer_->close();
}

bool Target::used_cuda() const {
  return (identity_.wake_reasons & wire::kWakeCuda) != 0 || worked_on_gpu() ||
         counts().api_calls != 0;
}

bool Target::worked_on_gpu() const {
  return counts().gpu_events + counts().contexts + counts().launches != 0 ||
         poller_.value(wire::Counter::kLaunchCallbacks) != 0;
}

void Target::step_began(std::uint64_t number, std::uint64_t ts_ns, std::uint64_t label) {
  has_steps_ = true;
  latest_step_ = number;
  events_.target_step_began(*this, number, ts_ns, label);
}

// No rule while its key changes: a target that looks in between counts nothing.
void Target::step_rule(wire::StepRule rule, std::uint64_t key, std::uint32_t tid) {
  wire::Plan& shared = segment_.plan();
  constexpr auto kNone = static_cast<std::uint32_t>(wire::StepRule::kNone);
  shared.step_rule.store(kNone, std::memory_order_seq_cst);
  shared.step_key.store(key, std::memory_order_seq_cst);
  shared.step_tid.store(tid, std::memory_order_seq_cst);
  shared.step_rule.store(static_cast<std::uint32_t>(rule), std::memory_order_release);
}

void Target::step_ended(std::uint64_t number, std::uint64_t ts_ns, bool pause) {
  events_.target_step_ended(*this, number, ts_ns, pause);
}

void Target::first_activity(std::uint64_t ts_ns) { events_.target_first_activity(*this, ts_ns); }

}  // namespace gpuprof::session
