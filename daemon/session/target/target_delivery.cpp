// SPDX-License-Identifier: Apache-2.0
//
// Sources of CUPTI's that were switched on and deliver nothing: said when it is noticed, and again
// with its length when it is over.
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
namespace {

using ingest::CuptiSource;
using ingest::DeliveryMonitor;

struct SourceNames {
  const char* what;
  const char* loss;
};
constexpr SourceNames kSources[ingest::kCuptiSources] = {
    {messages::session_target::kApiCallRecords, messages::session_target::kCallsNotLinked},
    {messages::session_target::kKernelRecords, messages::session_target::kGpuWorkMissing},
    {messages::session_target::kLaunchCallbacks, messages::session_target::kLaunchesWithoutStacks},
};

std::string so_far(const DeliveryMonitor& answers, CuptiSource source) {
  const std::string launches =
      support::count_with_unit(answers.expected(source), "launch", "launches");
  return source == CuptiSource::kCallbacks
             ? fmt::format(messages::session_target::kLaunchesWithoutOne, launches)
             : fmt::format(messages::session_target::kRecordsForLaunches, answers.delivered(source),
                           launches);
}

}  // namespace

void Target::check_delivery(std::uint64_t now_ns, bool last) {
  if (finished_ || handed_over_) return;
  const DeliveryMonitor& answers = assembler_->delivery();
  // Those that were made though no ring had room for their record: told as drops.
  const std::uint64_t callbacks = poller_.value(wire::Counter::kLaunchCallbacks);
  const std::uint64_t since_ns = answers.silent_since_ns(CuptiSource::kCallbacks);
  if (since_ns != callback_silent_since_ns_) callbacks_at_silence_ = callbacks;
  callback_silent_since_ns_ = since_ns;
  for (std::size_t i = 0; i < ingest::kCuptiSources; ++i) {
    const auto source = static_cast<CuptiSource>(i);
    if (source == CuptiSource::kCallbacks && no_subscriber_) continue;
    if (source == CuptiSource::kGpuActivity && nodes_stopped_) continue;
    const bool dropped = source == CuptiSource::kCallbacks && callbacks != callbacks_at_silence_;
    const bool silent = answers.is_silent(source, now_ns, last) && !dropped;
    const bool answered = answers.silent_since_ns(source) == 0 && answers.delivered(source) != 0;
    if (silent_since_ns_[i] == 0 && silent)
      report_silence(source, now_ns);
    else if (silent_since_ns_[i] != 0 && answered)
      report_delivery_resumed(source, now_ns);
  }
}

void Target::report_silence(CuptiSource source, std::uint64_t now_ns) {
  const DeliveryMonitor& answers = assembler_->delivery();
  const auto i = static_cast<std::size_t>(source);
  silent_since_ns_[i] = answers.silent_since_ns(source);
  report_missing(
      wire::Feature::kCuda,
      fmt::format(messages::session_target::kSourceSilent, kSources[i].what, identity_.pid,
                  so_far(answers, source), kSources[i].loss),
      now_ns,
      (base::kNoticeSourceSilent + static_cast<std::uint32_t>(i)) | base::kNoticeProvisional);
}

void Target::report_delivery_resumed(CuptiSource source, std::uint64_t now_ns) {
  const auto i = static_cast<std::size_t>(source);
  const std::uint64_t silent_ns = now_ns - std::min(now_ns, silent_since_ns_[i]);
  silent_since_ns_[i] = 0;
  report_missing(wire::Feature::kCuda,
                 fmt::format(messages::session_target::kSourceWasSilent, kSources[i].what,
                             identity_.pid, support::human_duration(silent_ns),
                             so_far(assembler_->delivery(), source), kSources[i].loss),
                 now_ns,
                 (base::kNoticeSourceSilent + static_cast<std::uint32_t>(i)) | base::kNoticeFinal);
}

}  // namespace gpuprof::session
