// SPDX-License-Identifier: Apache-2.0
//
// What counters of the process say and nobody else does: whoever would send a sentence may be what
// gets no processor.
//
// Context:  daemon (ingest thread)
#include <algorithm>
#include <string>

#include "daemon/session/target/target.hpp"
#include "gpuprof/base/notices.hpp"
#include "support/text/text.hpp"

namespace gpuprof::session {

void Target::report_missed_flush(std::uint64_t now_ns) {
  if (!worked_on_gpu() || recorded_.empty()) return;
  const std::string text = "CUPTI's final flush did not finish within 2 s of the exit of process " +
                           std::to_string(identity_.pid) +
                           " (it hangs, or gpuprof's threads were not scheduled): GPU events still "
                           "inside CUPTI are missing";
  report_missing(wire::Feature::kCuda, text, now_ns);
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
                 what + " of process " + std::to_string(identity_.pid) +
                     " may lack GPU events: CUPTI had not delivered all of them when the file was "
                     "written (its flush hangs or overlapped a fork, the process is stopped, or "
                     "gpuprof's threads were not scheduled)",
                 end_ns);
}

void Target::report_late_switch(std::uint64_t now_ns) {
  constexpr std::uint64_t kMinNs = 1'000'000;
  const std::uint64_t late_ns = poller_.value(wire::Counter::kCuptiEnableDelayNs);
  if (late_ns < late_reported_ns_ + kMinNs || !worked_on_gpu() || recorded_.empty()) return;
  report_missing(wire::Feature::kCuda,
                 "CUPTI records of process " + std::to_string(identity_.pid) + " are missing for " +
                     support::human_duration(late_ns - late_reported_ns_) +
                     ": CUPTI was enabled late (it hangs, or gpuprof's threads were not scheduled)",
                 now_ns);
  late_reported_ns_ = late_ns;
}

// By a counter: it happens where the worker, which would send a sentence, gets no processor.
void Target::report_interrupted_waits(std::uint64_t now_ns) {
  const std::string text =
      support::count_with_unit(poller_.value(wire::Counter::kWaitsInterruptedAgain), "waiting call",
                               "waiting calls") +
      " of process " + std::to_string(identity_.pid) +
      " returned early (EINTR) because of the sampling signal, not counting the first one per "
      "thread: gpuprof's worker thread was not scheduled in time to stop it";
  report_missing(wire::Feature::kNative, text, now_ns);
}

void Target::report_unfollowed_calls(std::uint64_t now_ns) {
  const std::string text =
      support::count_with_unit(poller_.value(wire::Counter::kProgramCuptiCallsMissed), "call",
                               "calls") +
      " by process " + std::to_string(identity_.pid) +
      " to its own CUPTI profiler could not be tracked (CUPTI hangs, or gpuprof's threads were not "
      "scheduled): GPU events may be missing here or in its own trace";
  report_missing(wire::Feature::kCuda, text, now_ns);
}

void Target::report_unread_messages(std::uint64_t now_ns) {
  report_missing(wire::Feature::kGeneral,
                 "messages of process " + std::to_string(identity_.pid) +
                     " were not read to the last: names of its threads and functions, or a "
                     "sentence that says what is missing, may be missing",
                 now_ns);
}

void Target::report_unsent_messages(std::uint64_t now_ns) {
  const std::string text =
      support::count_with_unit(poller_.value(wire::Counter::kMessagesUnsent), "message",
                               "messages") +
      " of the library did not reach gpuprofd, which was too busy, before the end of process " +
      std::to_string(identity_.pid) +
      ": names of its threads and functions, or a sentence that says what is missing, may be "
      "missing";
  report_missing(wire::Feature::kGeneral, text, now_ns);
}

// The newest sentences come behind the others, as far as a window has room.
void Target::report_lost_texts(std::uint64_t now_ns, bool last) {
  text_limiter_.release_pending([this](const model::Notice& notice) { writer_->on(notice); });
  const auto tell = [&](std::uint64_t lost, bool& reported, std::uint32_t subject, const char* one,
                        const char* many) {
    if (lost == 0 || (!last && reported)) return;
    const std::string of = " of process " + std::to_string(identity_.pid) +
                           (last && lost == 1 ? " is" : " are") +
                           " left out: it sent more than one trace keeps";
    report_missing(wire::Feature::kGeneral,
                   (last ? support::count_with_unit(lost, one, many) : std::string(many)) + of,
                   now_ns, subject | (last ? base::kNoticeFinal : base::kNoticeProvisional));
    reported = true;
  };
  tell(text_limiter_.names_lost(), names_reported_, base::kNoticeLostNames,
       "name of a thread or domain, or fact,", "names of threads and domains, or facts,");
  tell(text_limiter_.notices_lost(), notices_reported_, base::kNoticeLostNotices, "sentence",
       "sentences");
}

// Where a step begins only its mark says; marks have room of their own, which a daemon that stands
// still for long uses up.
void Target::report_lost_marks(std::uint64_t now_ns, bool last) {
  const std::uint64_t lost = poller_.dropped_marks();
  if (lost == 0 || (!last && marks_reported_)) return;
  const std::string of = " of steps of process " + std::to_string(identity_.pid);
  const char* why =
      " found no room, as gpuprofd got no processor for so long: such steps are missing or run "
      "together";
  const std::string text =
      last ? support::count_with_unit(lost, "mark", "marks") + of + why : "marks" + of + why;
  report_missing(
      wire::Feature::kSteps, text, now_ns,
      base::kNoticeLostStepMarks | (last ? base::kNoticeFinal : base::kNoticeProvisional));
  marks_reported_ = true;
}

}  // namespace gpuprof::session
