// SPDX-License-Identifier: Apache-2.0
//
// Sources of CUPTI's that were switched on and deliver nothing: said when it is noticed, and again
// with its length when it is over.
//
// Context:  daemon (ingest thread)
// Owns:     see target.hpp
#include <algorithm>
#include <string>

#include "daemon/session/target/target.hpp"
#include "gpuprof/base/notices.hpp"
#include "support/text/text.hpp"

namespace gpuprof::session {
namespace {

using ingest::Answers;
using ingest::Source;

struct Words {
  const char* silent;
  const char* was_silent;
  const char* loss;
};
constexpr Words kWords[ingest::kSources] = {
    {"CUPTI delivers no records of CUDA API calls of process ",
     "CUPTI delivered no records of CUDA API calls of process ",
     "GPU work of that time is not linked to the calls that launched it"},
    {"CUPTI delivers no records of kernels of process ",
     "CUPTI delivered no records of kernels of process ", "GPU work of that time is missing"},
    {"CUPTI makes no callbacks for launches of process ",
     "CUPTI made no callbacks for launches of process ", "launches of that time have no stacks"},
};

std::string so_far(const Answers& answers, Source source) {
  return source == Source::kCallbacks
             ? support::counted(answers.asked_of(source), "launch", "launches") + " without one"
             : std::to_string(answers.answers_of(source)) + " for " +
                   support::counted(answers.asked_of(source), "launch", "launches");
}

}  // namespace

void Target::look_at_answers(std::uint64_t now_ns, bool last) {
  if (finished_ || handed_over_) return;
  const Answers& answers = assembler_->answers();
  // Those that were made though no ring had room for their record: told as drops.
  const std::uint64_t callbacks = poller_.value(wire::Counter::kLaunchCallbacks);
  const std::uint64_t since_ns = answers.silent_since_ns(Source::kCallbacks);
  if (since_ns != unseen_since_ns_) callbacks_then_ = callbacks;
  unseen_since_ns_ = since_ns;
  for (std::size_t i = 0; i < ingest::kSources; ++i) {
    const auto source = static_cast<Source>(i);
    if (source == Source::kCallbacks && without_slot_) continue;
    if (source == Source::kGpuWork && nodes_stopped_) continue;
    const bool dropped = source == Source::kCallbacks && callbacks != callbacks_then_;
    const bool silent = answers.silent(source, now_ns, last) && !dropped;
    const bool answered = answers.silent_since_ns(source) == 0 && answers.answers_of(source) != 0;
    if (silent_since_ns_[i] == 0 && silent)
      tell_of_silence(source, now_ns);
    else if (silent_since_ns_[i] != 0 && answered)
      tell_of_answer(source, now_ns);
  }
}

void Target::tell_of_silence(Source source, std::uint64_t now_ns) {
  const Answers& answers = assembler_->answers();
  const auto i = static_cast<std::size_t>(source);
  silent_since_ns_[i] = answers.silent_since_ns(source);
  tell_of_missing(wire::Feature::kCuda,
                  kWords[i].silent + std::to_string(identity_.pid) + " (" +
                      so_far(answers, source) + "): " + kWords[i].loss,
                  now_ns,
                  (base::kNoticeSilence + static_cast<std::uint32_t>(i)) | base::kNoticeOpening);
}

void Target::tell_of_answer(Source source, std::uint64_t now_ns) {
  const auto i = static_cast<std::size_t>(source);
  const std::uint64_t silent_ns = now_ns - std::min(now_ns, silent_since_ns_[i]);
  silent_since_ns_[i] = 0;
  tell_of_missing(wire::Feature::kCuda,
                  kWords[i].was_silent + std::to_string(identity_.pid) + " for " +
                      support::human_duration(silent_ns) + " (" +
                      so_far(assembler_->answers(), source) + " then): " + kWords[i].loss,
                  now_ns,
                  (base::kNoticeSilence + static_cast<std::uint32_t>(i)) | base::kNoticeClosing);
}

}  // namespace gpuprof::session
