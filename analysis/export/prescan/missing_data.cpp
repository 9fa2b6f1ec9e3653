// SPDX-License-Identifier: Apache-2.0
//
// missing_data_messages().
//
// Context:  daemon (export thread) | cli
#include "analysis/export/prescan/missing_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/messages/missing.hpp"
#include "gpuprof/base/notices.hpp"
#include "recording/model/clock_metadata.hpp"
#include "recording/model/loss.hpp"
#include "support/text/text.hpp"

namespace gpuprof::exporter {
namespace {

namespace missing = messages::missing;
using model::LossReason;

std::uint64_t gpu_events(const Prescan& s) {
  return s.count(EventKind::kKernel) + s.count(EventKind::kMemCopy) + s.count(EventKind::kMemSet) +
         s.count(EventKind::kGraph);
}

/// Contexts and launches are reported by the process itself, the rest by CUPTI's records.
std::string no_gpu_events_message(const Prescan& s) {
  if (s.count(EventKind::kApiCall) != 0) return missing::kNoGpuActivity;
  const auto launches = s.facts.find("stats.launch_callbacks");
  const bool launched = launches != s.facts.end() && launches->second != "0";
  if (launched || !s.contexts.empty()) return missing::kNoGpuRecords;
  return missing::kNoCudaCalls;
}

std::string no_samples_message(const Prescan& s) {
  const std::uint64_t length_ns = s.window.end_ns - std::min(s.window.start_ns, s.window.end_ns);
  if (length_ns >= s.sample_period_ns) return missing::kNoSamples;
  return fmt::format(missing::kWindowTooShortForSamples, support::human_duration(length_ns),
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
    out.push_back(missing::kNoOperators);
  if (s.steps.empty()) out.push_back(missing::kNoSteps);
  if (s.count(EventKind::kSample) == 0 && s.samples_requested) out.push_back(no_samples_message(s));
}

std::uint64_t in_window(const Prescan& s, LossReason reason) {
  const auto found = s.losses.find(static_cast<std::uint32_t>(reason));
  return found == s.losses.end() ? 0 : found->second.in_window;
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
    out.push_back(never.number == 1
                      ? fmt::format(missing::kThreadMaskedOne, never.number, never.text())
                      : fmt::format(missing::kThreadMaskedMany, never.number, never.text()));
  if (for_a_while.number != 0)
    out.push_back(for_a_while.number == 1 ? fmt::format(missing::kThreadMaskedForAWhileOne,
                                                        for_a_while.number, for_a_while.text())
                                          : fmt::format(missing::kThreadMaskedForAWhileMany,
                                                        for_a_while.number, for_a_while.text()));
}

std::string loss_message(const Prescan& s, LossReason reason, std::uint64_t count) {
  const bool one = count == 1;
  const std::string_view why = loss_name(reason);
  switch (reason) {
    case LossReason::kCuptiUnknownKind: {
      const std::uint64_t bytes = in_window(s, LossReason::kCuptiUnknownBytes);
      return one ? fmt::format(missing::kActivityBufferCutOne, count, bytes)
                 : fmt::format(missing::kActivityBufferCutMany, count, bytes);
    }
    case LossReason::kNameTruncated:
      return one ? fmt::format(missing::kNameTruncatedOne, count)
                 : fmt::format(missing::kNameTruncatedMany, count);
    case LossReason::kStepLost:
      return one ? fmt::format(missing::kStepOne, count) : fmt::format(missing::kStepMany, count);
    case LossReason::kCuptiNoBuffer:
      return one ? fmt::format(missing::kActivityBufferOne, count, why)
                 : fmt::format(missing::kActivityBufferMany, count, why);
    case LossReason::kThreadNoTrigger:
      return one ? fmt::format(missing::kThreadNotSampledOne, count, why)
                 : fmt::format(missing::kThreadNotSampledMany, count, why);
    case LossReason::kThreadNoRing:
      return one ? fmt::format(missing::kThreadNotRecordedOne, count, why)
                 : fmt::format(missing::kThreadNotRecordedMany, count, why);
    case LossReason::kBlockedTorn:
    case LossReason::kSampleAtFork:
      return one ? fmt::format(missing::kStackSampleOne, count, why)
                 : fmt::format(missing::kStackSampleMany, count, why);
    default:
      return one ? fmt::format(missing::kRecordOne, count, why)
                 : fmt::format(missing::kRecordMany, count, why);
  }
}

void append_clock_warning(const Prescan& s, std::vector<std::string>& out) {
  constexpr double kWorthASentence = 100;  // ppm
  const auto records = s.facts.find(model::kClockImprecise),
             ppm = s.facts.find(model::kClockImprecisePpm);
  if (records == s.facts.end() || ppm == s.facts.end()) return;
  const double known = std::strtod(ppm->second.c_str(), nullptr);
  if (known < kWorthASentence) return;
  const std::uint64_t count = std::strtoull(records->second.c_str(), nullptr, 10);
  const std::string number = support::human_count(count);
  out.push_back(count == 1 ? fmt::format(missing::kClockImpreciseOne, number, known / 1e4)
                           : fmt::format(missing::kClockImpreciseMany, number, known / 1e4));
}

void clocks(const Prescan& s, std::vector<std::string>& out) {
  append_clock_warning(s, out);
  const auto records = s.facts.find(model::kClockAmbiguous);
  const auto by_ns = s.facts.find(model::kClockAmbiguousNs);
  if (records == s.facts.end() || by_ns == s.facts.end()) return;
  out.push_back(
      fmt::format(missing::kClockAmbiguous, records->second,
                  support::human_duration(std::strtoull(by_ns->second.c_str(), nullptr, 10))));
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
  if (!s.replay_complete) out.push_back(missing::kSpoolIncomplete);
  if (s.is_truncated) out.push_back(missing::kSpoolTruncated);
  clocks(s, out);
  // Where nothing was looked for, "none was seen" would be wrong.
  if (!nothing_was_recorded(s)) append_absent_kinds(s, out);
  for (std::size_t i = 0; i < s.omissions.size(); ++i)
    if (const auto kind = static_cast<OmissionReason>(i); s.omissions[i] != 0)
      out.push_back(fmt::format("{} {}", s.omissions[i], omission_message(kind, s.omissions[i])));
  return out;
}

}  // namespace gpuprof::exporter
