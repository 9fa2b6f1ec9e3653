// SPDX-License-Identifier: Apache-2.0
//
// What an agent says over the socket, one function a message.
//
// Context:  daemon (ingest thread)
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/symbols/perf_map_registry.hpp"
#include "daemon/ingest/decode/code_roles.hpp"
#include "daemon/messages/session_target.hpp"
#include "daemon/session/target/target.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/jit_code.hpp"
#include "gpuprof/base/notices.hpp"
#include "support/text/text.hpp"

namespace gpuprof::session {
namespace {

constexpr std::size_t kMaxRecorded = 64;

/// `bytes` of the tail from `at`, or less if it is shorter.
std::string_view part(const wire::Packet& packet, std::size_t at, std::size_t bytes) {
  if (at >= packet.tail_bytes) return {};
  return {packet.tail + at, std::min(bytes, packet.tail_bytes - at)};
}

}  // namespace

Target::Identity identity_of(const wire::Hello& hello, const wire::Packet& packet,
                             const Credentials& peer) {
  Target::Identity identity;
  identity.pid = peer.pid > 0 ? static_cast<std::uint32_t>(peer.pid) : hello.pid;
  identity.ppid = hello.ppid;
  identity.start_ticks = hello.process_start_ticks;
  identity.wake_reasons = hello.wake_reasons;
  identity.exe = part(packet, 0, hello.exe_bytes);
  identity.command_line = part(packet, hello.exe_bytes, hello.command_bytes);
  std::string& line = identity.command_line;
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return identity;
}

void Target::on_message(const wire::Packet& packet) {
  if (finished_) return;
  wire::StateReport state;
  wire::FlushDone flushed;
  wire::Bye bye;
  wire::ForwardedStop end;
  switch (packet.type) {
    case wire::MessageType::kHello:
      return on_hello_again(packet);
    case wire::MessageType::kModule:
    case wire::MessageType::kModuleUnloaded:
      return on_module(packet);
    case wire::MessageType::kThread:
    case wire::MessageType::kNotice:
    case wire::MessageType::kDomainName:
    case wire::MessageType::kFact:
      return on_text_message(packet);
    case wire::MessageType::kStateReport:
      if (packet.as(&state)) on_state(state);
      return;
    case wire::MessageType::kFlushDone:
      if (packet.as(&flushed) && flush_pending(flushed.token)) answered_token_ = flushed.token;
      return;
    case wire::MessageType::kBye:
      if (packet.as(&bye)) sent_bye_ = true;
      detaches_ =
          sent_bye_ && (bye.reason == static_cast<std::uint32_t>(wire::ByeReason::kTakenOver) ||
                        bye.reason == static_cast<std::uint32_t>(wire::ByeReason::kDetached));
      return;
    case wire::MessageType::kForwardedStop:
      if (packet.as(&end)) events_.target_end_requested(*this, end.pid);
      return;
    default:
      return;  // of a later minor version
  }
}

void Target::on_hello_again(const wire::Packet& packet) {
  wire::Hello hello;
  if (!packet.as(&hello) || (hello.wake_reasons & ~identity_.wake_reasons) == 0) return;
  identity_.wake_reasons |= hello.wake_reasons;
  write_process();
}

void Target::on_module(const wire::Packet& packet) {
  wire::Module module;
  wire::ModuleUnloaded gone;
  if (packet.as(&module)) {
    std::string path(part(packet, module.build_id_bytes, module.path_bytes));
    if (path.starts_with(base::kJitCodePath)) {
      symbols::PerfMapRegistry::shared().watch(identity_.pid, identity_.start_ticks);
      path = base::kJitCodePath + (" " + std::to_string(identity_.pid));  // whose names it has
    }
    writer_->on(model::Module{module.load_bias, module.start, module.end, module.seen_ns,
                              part(packet, 0, module.build_id_bytes), path});
  } else if (packet.as(&gone)) {
    writer_->on(model::ModuleUnload{gone.load_bias, gone.start, gone.unloaded_ns});
  }
}

void Target::on_text_message(const wire::Packet& packet) {
  wire::Thread thread;
  wire::Notice notice;
  wire::DomainName domain;
  wire::Fact fact;
  if (packet.as(&thread)) {
    const std::string_view name = part(packet, 0, thread.name_bytes);
    serves_ = serves_ || (thread.tid == identity_.pid && ingest::is_worker_thread_name(name));
    // Each window tells of each thread again.
    if (text_limiter_.admit(TextLimiter::Of::kThread, thread.tid, name, thread.flags))
      writer_->on(model::ThreadName{thread.tid, thread.flags, thread.ts_ns, name});
  } else if (packet.as(&notice)) {
    on_notice(packet, notice);
  } else if (packet.as(&domain)) {
    const std::string_view name = part(packet, 0, domain.name_bytes);
    if (text_limiter_.admit(TextLimiter::Of::kDomain, domain.domain, name))
      writer_->on(model::Domain{domain.domain, name});
  } else if (packet.as(&fact)) {
    const std::string_view key = part(packet, 0, fact.key_bytes);
    const std::string_view value = part(packet, fact.key_bytes, fact.value_bytes);
    note_rank(key, value);
    if (text_limiter_.admit(TextLimiter::Of::kFact, base::hash_bytes(key.data(), key.size()),
                            value))
      writer_->on(model::Fact{key, value});
  }
}

void Target::on_notice(const wire::Packet& packet, const wire::Notice& notice) {
  const std::string_view text = part(packet, 0, notice.text_bytes);
  const model::Notice reported{notice.ts_ns, notice.feature, notice.level, notice.code, text};
  if (text_limiter_.admit(reported)) writer_->on(reported);
  track_handover(notice.code, notice.ts_ns);
  notices_.add(notice.feature, notice.level, notice.code, text);
}

// What the program's own profiler is given is no silence, nor what we stopped.
void Target::track_handover(std::uint32_t code, std::uint64_t ts_ns) {
  if (code == (base::kNoticeCuptiYielded | base::kNoticeProvisional)) handed_over_ = true;
  if (code == (base::kNoticeNoSubscriber | base::kNoticeProvisional)) no_subscriber_ = true;
  if (code == (base::kNoticeNoSubscriber | base::kNoticeFinal)) no_subscriber_ = false;
  if (code == base::kNoticeGraphNodesStopped) nodes_stopped_ = true;
  if (code != (base::kNoticeCuptiYielded | base::kNoticeFinal)) return;
  handed_over_ = false;
  assembler_->reset_delivery(ts_ns);
}

// The innermost launcher's word: a job's script has Slurm's, each of its ranks MPI's as well.
void Target::note_rank(std::string_view key, std::string_view value) {
  constexpr std::string_view kInnermostFirst[] = {"env.RANK", "env.OMPI_COMM_WORLD_RANK",
                                                  "env.PMI_RANK", "env.MV2_COMM_WORLD_RANK",
                                                  "env.SLURM_PROCID"};
  const auto place = [&](std::string_view of) {
    return std::find(std::begin(kInnermostFirst), std::end(kInnermostFirst), of);
  };
  const auto found = place(key);
  const std::string_view known =
      std::string_view(identity_.rank).substr(0, identity_.rank.find('='));
  if (found == std::end(kInnermostFirst) || (!known.empty() && place(known) < found)) return;
  identity_.rank = std::string(key) + "=" + std::string(value);
}

// On a machine that has more to do than it can, the agent's thread may not get to run, or the
// daemon not answer it, while the program goes on.
void Target::report_late_start(std::uint64_t missed_ns, bool began, std::uint64_t now_ns) {
  // What is over before was too short for more than to be met.
  constexpr std::uint64_t kMinNs = 100'000'000, kLateNs = 1'000'000'000;
  if (missed_ns < (began ? kLateNs : kMinNs)) return;
  const std::string time = support::human_duration(missed_ns);
  const std::string text =
      began ? fmt::format(messages::session_target::kStartedLate, time, identity_.pid)
            : fmt::format(messages::session_target::kNotRecorded, identity_.pid, time);
  const std::uint32_t code = began ? 0 : base::kNoticeNothingRecorded;
  report_missing(wire::Feature::kGeneral, text, now_ns, code);
}

void Target::on_state(wire::StateReport report) {
  // Windows are counted from it: a process makes neither the past nor the future.
  const std::uint64_t least_ns = recorded_.empty() ? start_ns_ : recorded_.back().ts_ns;
  report.ts_ns = std::max(least_ns, std::min(report.ts_ns, base::mono_ns()));
  writer_->on(model::StateChange{report.state, report.ts_ns, report.steps, report.switch_ns});
  const bool on = report.state == static_cast<std::uint32_t>(wire::AgentState::kRecording);
  // Nobody tells of their ends any more.
  const bool left_out = close_at_ != 0 && report.sequence >= close_at_;
  if (left_out) close_at_ = 0;
  if (recording_ && (!on || left_out)) assembler_->recording_stopped(report.ts_ns);
  if (recording_ != on) assembler_->write_losses(base::mono_ns());
  if (on && recorded_.empty() && record_requested_ns_ != 0)
    report_late_start(report.ts_ns - std::min(report.ts_ns, record_requested_ns_), true,
                      report.ts_ns);
  if (on && !recording_) nodes_stopped_ = false;
  // An agent reports after every change of the plan; only the switch itself has a time.
  if (recording_ != on) {
    if (recorded_.size() >= kMaxRecorded) recorded_.erase(recorded_.begin());
    recorded_.push_back({report.ts_ns, on});
    events_.target_recording(*this, on, report.ts_ns);
  }
  recording_ = on;
}

}  // namespace gpuprof::session
