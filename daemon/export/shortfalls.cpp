// SPDX-License-Identifier: Apache-2.0
//
// shortfalls().
//
// Context:  daemon (export thread) | cli
#include "daemon/export/shortfalls.hpp"

#include <fmt/format.h>

#include "daemon/model/clock_facts.hpp"
#include "daemon/model/loss.hpp"

namespace gpuprof::exporter {
namespace {

using model::LossReason;

/// Levels of model::Notice.
constexpr std::uint32_t kMissing = 1;

std::uint64_t gpu_events(const Survey& s) {
  return s.count(Counted::kKernel) + s.count(Counted::kMemCopy) + s.count(Counted::kMemSet) +
         s.count(Counted::kGraph);
}

/// Contexts and launches are told by the process itself, the rest by CUPTI's records.
std::string no_gpu_rows(const Survey& s) {
  if (s.count(Counted::kCall) != 0)
    return "no GPU rows: CUDA calls were seen, but no GPU activity in this window";
  const auto launches = s.facts.find("stats.launch_callbacks");
  const bool launched = launches != s.facts.end() && launches->second != "0";
  if (launched || !s.contexts.empty())
    return "no GPU rows: the process works on a GPU, but CUPTI delivered no record of this window";
  return "no GPU rows: no CUDA call and no GPU activity was seen in this window";
}

void lanes(const Survey& s, std::vector<std::string>& out) {
  if (gpu_events(s) == 0) out.push_back(no_gpu_rows(s));
  if (s.count(Counted::kOperator) + s.count(Counted::kRange) == 0)
    out.push_back(
        "no operators: the process ran none of PyTorch's and pushed no NVTX range in this window");
  if (s.steps.empty())
    out.push_back("no steps: none was seen whole in this window; the overview takes it as one");
  if (s.count(Counted::kSample) == 0)
    out.push_back("no sampled stacks: no thread was sampled in this window");
}

std::uint64_t in_window(const Survey& s, LossReason reason) {
  const auto found = s.losses.find(static_cast<std::uint32_t>(reason));
  return found == s.losses.end() ? 0 : found->second.in_window;
}

/// What a count of this reason counts.
std::pair<const char*, const char*> noun_of(LossReason reason) {
  switch (reason) {
    case LossReason::kCuptiNoBuffer:
      return {"buffer is", "buffers are"};
    case LossReason::kThreadMasked:
    case LossReason::kThreadNoTrigger:
    case LossReason::kThreadNoLane:
      return {"thread is", "threads are"};
    default:
      return {"record is", "records are"};
  }
}

std::string sentence_of(const Survey& s, LossReason reason, std::uint64_t count) {
  const bool one = count == 1;
  if (reason == LossReason::kCuptiUnknownKind)
    return fmt::format(
        "{} of CUPTI {} cut short at a record of a kind that CUPTI's iterator does not know; the "
        "records behind it are lost, {} bytes",
        one ? "1 buffer" : fmt::format("{} buffers", count), one ? "was" : "were",
        in_window(s, LossReason::kCuptiUnknownBytes));
  if (reason == LossReason::kNameCut)
    return fmt::format("{} too long to be recorded whole; …#HASH at the end tells {}",
                       one ? "1 name was" : fmt::format("{} names were", count),
                       one ? "it from others" : "them apart");
  const auto [singular, plural] = noun_of(reason);
  return fmt::format("{} {} missing: {}", count, one ? singular : plural, name_of(reason));
}

void clocks(const Survey& s, std::vector<std::string>& out) {
  const auto records = s.facts.find(model::kClockAmbiguous);
  const auto by_ns = s.facts.find(model::kClockAmbiguousBy);
  if (records == s.facts.end() || by_ns == s.facts.end()) return;
  out.push_back(
      fmt::format("CUPTI's clock changed while recording and {} of its records fit the clocks "
                  "before and after; "
                  "their times may be off by up to {} ns",
                  records->second, by_ns->second));
}

}  // namespace

std::vector<std::string> shortfalls(const Survey& s) {
  std::vector<std::string> out;
  for (const auto& notice : s.notices)
    if (notice.level >= kMissing) out.push_back(notice.text);
  for (const auto& [reason, loss] : s.losses)
    if (loss.in_window != 0 && reason != static_cast<std::uint32_t>(LossReason::kCuptiUnknownBytes))
      out.push_back(sentence_of(s, static_cast<LossReason>(reason), loss.in_window));
  if (!s.replay_complete)
    out.push_back("the spool ends inside a block: what came after it was lost with the daemon");
  clocks(s, out);
  lanes(s, out);
  for (std::size_t i = 0; i < s.shortfalls.size(); ++i)
    if (s.shortfalls[i] != 0)
      out.push_back(fmt::format("{} {}", s.shortfalls[i], name_of(static_cast<Shortfall>(i))));
  return out;
}

}  // namespace gpuprof::exporter
