// SPDX-License-Identifier: Apache-2.0
//
// What counters of the process say and nobody else does: whoever would send a sentence may be what
// gets no processor.
//
// Context:  daemon (ingest thread)
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "daemon/messages/session_target.hpp"
#include "daemon/session/target/target.hpp"
#include "gpuprof/base/notices.hpp"
#include "support/text/text.hpp"

namespace gpuprof::session {

void Target::report_missed_flush(std::uint64_t now_ns) {
  if (!worked_on_gpu() || recorded_.empty()) return;
  report_missing(wire::Feature::kCuda,
                 fmt::format(messages::session_target::kFinalFlushMissed, identity_.pid), now_ns);
}

// By counters and by what was not answered, as above. What comes later is in the spool and in no
// file of that time.
void Target::check_flush(std::uint64_t token, const std::string& what, std::uint64_t end_ns) {
  if (finished_) return;
  const std::uint64_t missed = poller_.value(wire::Counter::kFlushTimeouts);
  const bool whole = answered_token_ >= token && missed == flushes_missed_;
  flushes_missed_ = missed;
  const bool has_part = !recorded_.empty() && recorded_.front().ts_ns < end_ns;
  // At its end it flushes by itself, and what is missing then is reported by the above.
  if (whole || !has_part || !worked_on_gpu() || sent_bye() || process_gone()) return;
  report_missing(wire::Feature::kCuda,
                 fmt::format(messages::session_target::kWindowLacksGpuEvents, what, identity_.pid),
                 end_ns);
}

void Target::report_late_switch(std::uint64_t now_ns) {
  constexpr std::uint64_t kMinNs = 1'000'000;
  const std::uint64_t late_ns = poller_.value(wire::Counter::kCuptiEnableDelayNs);
  if (late_ns < late_reported_ns_ + kMinNs || !worked_on_gpu() || recorded_.empty()) return;
  report_missing(wire::Feature::kCuda,
                 fmt::format(messages::session_target::kCuptiEnabledLate, identity_.pid,
                             support::human_duration(late_ns - late_reported_ns_)),
                 now_ns);
  late_reported_ns_ = late_ns;
}

// By a counter: it happens where the worker, which would send a sentence, gets no processor.
void Target::report_interrupted_waits(std::uint64_t now_ns) {
  const std::string calls = support::count_with_unit(
      poller_.value(wire::Counter::kWaitsInterruptedAgain), "blocking call", "blocking calls");
  report_missing(wire::Feature::kNative,
                 fmt::format(messages::session_target::kWaitsInterrupted, calls, identity_.pid),
                 now_ns);
}

void Target::report_unfollowed_calls(std::uint64_t now_ns) {
  const std::string calls = support::count_with_unit(
      poller_.value(wire::Counter::kProgramCuptiCallsMissed), "call", "calls");
  report_missing(wire::Feature::kCuda,
                 fmt::format(messages::session_target::kProfilerCallsMissed, calls, identity_.pid),
                 now_ns);
}

void Target::report_unread_messages(std::uint64_t now_ns) {
  report_missing(wire::Feature::kGeneral,
                 fmt::format(messages::session_target::kMessagesUnread, identity_.pid), now_ns);
}

void Target::report_unsent_messages(std::uint64_t now_ns) {
  const std::string unsent = support::count_with_unit(poller_.value(wire::Counter::kMessagesUnsent),
                                                      "message", "messages");
  report_missing(wire::Feature::kGeneral,
                 fmt::format(messages::session_target::kMessagesUnsent, unsent, identity_.pid),
                 now_ns);
}

// The newest sentences come behind the others, as far as a window has room.
void Target::report_lost_texts(std::uint64_t now_ns, bool last) {
  text_limiter_.release_pending([this](const model::Notice& notice) { writer_->on(notice); });
  const auto tell = [&](std::uint64_t lost, bool& reported, std::uint32_t subject, const char* one,
                        const char* many) {
    if (lost == 0 || (!last && reported)) return;
    const std::string what = last ? support::count_with_unit(lost, one, many) : std::string(many);
    report_missing(wire::Feature::kGeneral,
                   fmt::format(messages::session_target::kTextsDropped, what, identity_.pid),
                   now_ns, subject | (last ? base::kNoticeFinal : base::kNoticeProvisional));
    reported = true;
  };
  tell(text_limiter_.names_lost(), names_reported_, base::kNoticeLostNames,
       "thread name, domain name or fact", "thread names, domain names or facts");
  tell(text_limiter_.notices_lost(), notices_reported_, base::kNoticeLostNotices, "notice",
       "notices");
}

// Where a step begins only its mark says; marks have room of their own, which a daemon that stands
// still for long uses up.
void Target::report_lost_marks(std::uint64_t now_ns, bool last) {
  const std::uint64_t lost = poller_.dropped_marks();
  if (lost == 0 || (!last && marks_reported_)) return;
  const std::string what =
      last ? support::count_with_unit(lost, "step mark", "step marks") : "step marks";
  report_missing(
      wire::Feature::kSteps, fmt::format(messages::session_target::kMarksLost, what, identity_.pid),
      now_ns, base::kNoticeLostStepMarks | (last ? base::kNoticeFinal : base::kNoticeProvisional));
  marks_reported_ = true;
}

}  // namespace gpuprof::session
