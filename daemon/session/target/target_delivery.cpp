// SPDX-License-Identifier: Apache-2.0
//
// Sources of CUPTI's that were switched on and deliver nothing: said when it is noticed, and again
// with its length when it is over.
//
// Context:  daemon (ingest thread)
#include <algorithm>
#include <string>

#include "daemon/session/target/target.hpp"
#include "gpuprof/base/notices.hpp"
#include "support/text/text.hpp"

namespace gpuprof::session {
namespace {

using ingest::CuptiSource;
using ingest::DeliveryMonitor;

struct SilenceMessages {
  const char* silent;
  const char* was_silent;
  const char* loss;
};
constexpr SilenceMessages kWords[ingest::kCuptiSources] = {
    {"CUPTI delivers no records of CUDA API calls of process ",
     "CUPTI delivered no records of CUDA API calls of process ",
     "GPU work of that time is not linked to the calls that launched it"},
    {"CUPTI delivers no records of kernels of process ",
     "CUPTI delivered no records of kernels of process ", "GPU work of that time is missing"},
    {"CUPTI makes no callbacks for launches of process ",
     "CUPTI made no callbacks for launches of process ", "launches of that time have no stacks"},
};

std::string so_far(const DeliveryMonitor& answers, CuptiSource source) {
  return source == CuptiSource::kCallbacks
             ? support::count_with_unit(answers.expected(source), "launch", "launches") +
                   " without one"
             : std::to_string(answers.delivered(source)) + " for " +
                   support::count_with_unit(answers.expected(source), "launch", "launches");
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
      kWords[i].silent + std::to_string(identity_.pid) + " (" + so_far(answers, source) +
          "): " + kWords[i].loss,
      now_ns,
      (base::kNoticeSourceSilent + static_cast<std::uint32_t>(i)) | base::kNoticeProvisional);
}

void Target::report_delivery_resumed(CuptiSource source, std::uint64_t now_ns) {
  const auto i = static_cast<std::size_t>(source);
  const std::uint64_t silent_ns = now_ns - std::min(now_ns, silent_since_ns_[i]);
  silent_since_ns_[i] = 0;
  report_missing(wire::Feature::kCuda,
                 kWords[i].was_silent + std::to_string(identity_.pid) + " for " +
                     support::human_duration(silent_ns) + " (" +
                     so_far(assembler_->delivery(), source) + " then): " + kWords[i].loss,
                 now_ns,
                 (base::kNoticeSourceSilent + static_cast<std::uint32_t>(i)) | base::kNoticeFinal);
}

}  // namespace gpuprof::session
