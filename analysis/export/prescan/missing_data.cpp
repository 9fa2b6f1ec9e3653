// SPDX-License-Identifier: Apache-2.0
//
// missing_data_messages().
//
// Context:  daemon (export thread) | cli
#include "analysis/export/prescan/missing_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "gpuprof/base/notices.hpp"
#include "recording/model/clock_metadata.hpp"
#include "recording/model/loss.hpp"
#include "support/text/text.hpp"

namespace gpuprof::exporter {
namespace {

using model::LossReason;

std::uint64_t gpu_events(const Prescan& s) {
  return s.count(EventKind::kKernel) + s.count(EventKind::kMemCopy) + s.count(EventKind::kMemSet) +
         s.count(EventKind::kGraph);
}

/// Contexts and launches are reported by the process itself, the rest by CUPTI's records.
std::string no_gpu_events_message(const Prescan& s) {
  if (s.count(EventKind::kApiCall) != 0)
    return "no GPU rows: CUDA calls were seen, but no GPU activity in this window";
  const auto launches = s.facts.find("stats.launch_callbacks");
  const bool launched = launches != s.facts.end() && launches->second != "0";
  if (launched || !s.contexts.empty())
    return "no GPU rows: the process works on a GPU, but CUPTI delivered no record of this window";
  return "no GPU rows: no CUDA call and no GPU activity was seen in this window";
}

std::string no_samples_message(const Prescan& s) {
  const std::uint64_t length_ns = s.window.end_ns - std::min(s.window.start_ns, s.window.end_ns);
  if (length_ns >= s.sample_period_ns)
    return "no sampled stacks: no thread was sampled in this window";
  return fmt::format("no sampled stacks: this window lasts {}, and a thread is sampled every {}",
                     support::human_duration(length_ns),
                     support::human_duration(s.sample_period_ns));
}

bool nothing_was_recorded(const Prescan& s) {
  return std::any_of(s.notices.begin(), s.notices.end(), [](const model::NoticeLog::Entry& notice) {
    return notice.code == base::kNoticeNothingRecorded;
  });
}

void append_absent_kinds(const Prescan& s, std::vector<std::string>& out) {
  if (gpu_events(s) == 0) out.push_back(no_gpu_events_message(s));
  if (s.count(EventKind::kOperator) + s.count(EventKind::kRange) == 0)
    out.push_back(
        "no operators: the process ran none of PyTorch's and pushed no NVTX range in this window");
  if (s.steps.empty())
    out.push_back("no steps: none was seen whole in this window; the overview takes it as one");
  if (s.count(EventKind::kSample) == 0 && s.samples_requested) out.push_back(no_samples_message(s));
}

std::uint64_t in_window(const Prescan& s, LossReason reason) {
  const auto found = s.losses.find(static_cast<std::uint32_t>(reason));
  return found == s.losses.end() ? 0 : found->second.in_window;
}

/// What a count of this reason counts.
std::pair<const char*, const char*> noun_of(LossReason reason) {
  switch (reason) {
    case LossReason::kCuptiNoBuffer:
      return {"buffer is", "buffers are"};
    case LossReason::kThreadNoTrigger:
    case LossReason::kThreadNoRing:
      return {"thread is", "threads are"};
    case LossReason::kBlockedTorn:
    case LossReason::kSampleAtFork:
      return {"stack sample is", "stack samples are"};
    default:
      return {"record is", "records are"};
  }
}

/// Threads that blocked the sampling signal, as far as they are known.
struct ThreadNameList {
  std::size_t number = 0;
  std::vector<std::string> names;  // "python3 17", the first ones

  void add(std::uint32_t tid, const Prescan::Thread& thread) {
    constexpr std::size_t kNamed = 4;
    if (++number <= kNamed)
      names.push_back(fmt::format("{} {}", thread.name.empty() ? "thread" : thread.name, tid));
  }
  std::string text() const {
    std::vector<std::string> all = names;
    if (number > names.size() && !all.empty())
      all.push_back(fmt::format("{} more", number - names.size()));
    return all.empty() ? "" : " (" + support::join(all, ", ") + ")";
  }
};

/// Who has no sample at all is missing; who has some blocked the sampling signal for a while only.
/// Of whom it is not known who they are, as of a file that is read, no more is said.
void append_unsampled_threads(const Prescan& s, std::uint64_t count,
                              std::vector<std::string>& out) {
  ThreadNameList never, for_a_while;
  for (const auto& [tid, thread] : s.threads)
    if (thread.signal_masked) (thread.sampled ? for_a_while : never).add(tid, thread);
  const std::size_t known = never.number + for_a_while.number;
  if (known < count) for_a_while.number += count - known;
  if (never.number != 0)
    out.push_back(
        fmt::format("{} missing: {}{}",
                    never.number == 1 ? "1 thread is" : fmt::format("{} threads are", never.number),
                    loss_name(LossReason::kThreadMasked), never.text()));
  if (for_a_while.number != 0)
    out.push_back(fmt::format(
        "{} blocked the sampling signal for some time and could not be sampled then{}",
        for_a_while.number == 1 ? "1 thread" : fmt::format("{} threads", for_a_while.number),
        for_a_while.text()));
}

std::string loss_message(const Prescan& s, LossReason reason, std::uint64_t count) {
  const bool one = count == 1;
  if (reason == LossReason::kCuptiUnknownKind)
    return fmt::format(
        "{} of CUPTI {} cut short at a record of a kind that CUPTI's iterator does not know; the "
        "records behind it are lost, {} bytes",
        one ? "1 buffer" : fmt::format("{} buffers", count), one ? "was" : "were",
        in_window(s, LossReason::kCuptiUnknownBytes));
  if (reason == LossReason::kNameTruncated)
    return fmt::format("{} too long to be recorded whole; …#HASH at the end tells {}",
                       one ? "1 name was" : fmt::format("{} names were", count),
                       one ? "it from others" : "them apart");
  if (reason == LossReason::kStepLost)
    return fmt::format("{} missing: {} lost, and the step before goes on through {}",
                       one ? "1 step is" : fmt::format("{} steps are", count),
                       one ? "its begin is" : "their begins are", one ? "it" : "them");
  const auto [singular, plural] = noun_of(reason);
  return fmt::format("{} {} missing: {}", count, one ? singular : plural, loss_name(reason));
}

void append_clock_warning(const Prescan& s, std::vector<std::string>& out) {
  constexpr double kWorthASentence = 100;  // ppm
  const auto records = s.facts.find(model::kClockImprecise),
             ppm = s.facts.find(model::kClockImprecisePpm);
  if (records == s.facts.end() || ppm == s.facts.end()) return;
  const double known = std::strtod(ppm->second.c_str(), nullptr);
  if (known < kWorthASentence) return;
  out.push_back(fmt::format(
      "{} converted before the rate of its clock was known well; durations may be off by "
      "up to {:.2g} %",
      support::count_with_unit(std::strtoull(records->second.c_str(), nullptr, 10),
                               "record of CUPTI was", "records of CUPTI were"),
      known / 1e4));
}

void clocks(const Prescan& s, std::vector<std::string>& out) {
  append_clock_warning(s, out);
  const auto records = s.facts.find(model::kClockAmbiguous);
  const auto by_ns = s.facts.find(model::kClockAmbiguousNs);
  if (records == s.facts.end() || by_ns == s.facts.end()) return;
  out.push_back(fmt::format(
      "CUPTI's clock changed while recording and {} of its records fit the clocks "
      "before and after; "
      "their times may be off by up to {}",
      records->second, support::human_duration(std::strtoull(by_ns->second.c_str(), nullptr, 10))));
}

}  // namespace

std::vector<std::string> missing_data_messages(const Prescan& s) {
  std::vector<std::string> out = s.notices.missing(s.pid);
  for (const auto& [number, loss] : s.losses) {
    const auto reason = static_cast<LossReason>(number);
    if (loss.in_window == 0 || reason == LossReason::kCuptiUnknownBytes) continue;
    if (reason == LossReason::kThreadMasked)
      append_unsampled_threads(s, loss.in_window, out);
    else
      out.push_back(loss_message(s, reason, loss.in_window));
  }
  if (!s.replay_complete)
    out.push_back("the spool ends inside a block: what came after it was lost with the daemon");
  if (s.is_truncated)
    out.push_back(
        "the last records are missing: the spool of the process was not written to its end, "
        "which a full disk, a limit on file sizes or the daemon's death prevented");
  clocks(s, out);
  // Where nothing was looked for, "none was seen" would be wrong.
  if (!nothing_was_recorded(s)) append_absent_kinds(s, out);
  for (std::size_t i = 0; i < s.omissions.size(); ++i)
    if (const auto kind = static_cast<OmissionReason>(i); s.omissions[i] != 0)
      out.push_back(fmt::format("{} {}", s.omissions[i], omission_message(kind, s.omissions[i])));
  return out;
}

}  // namespace gpuprof::exporter
