// SPDX-License-Identifier: Apache-2.0
//
// The reductions, and when one is taken.
//
// Context:  daemon (ingest thread)
#include "daemon/session/target/governor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/messages/session_target.hpp"
#include "gpuprof/wire/records.hpp"

namespace gpuprof::session {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
/// A reduction has an effect after the agent's next turn, and some entries stand for others before
/// them.
constexpr std::uint64_t kSettleNs = 200'000'000;
/// The rate of samples is halved so often.
constexpr std::uint32_t kMaxHalvings = 3;
/// A reduction is passed over for the time being where what it saves is less than this part of the
/// cost.
constexpr std::uint64_t kWorthwhile = 5;
/// A thread that runs for less than this part of the time is taken to run so long: what hardly
/// runs holds nobody up.
constexpr std::uint64_t kMinShare = 10;

bool worthwhile(const Reduction& reduction, const ThreadCost& cost) {
  switch (reduction.saves) {
    case Reduction::Saves::kSamples:
      return cost.samples_ns * kWorthwhile >= cost.sum();
    case Reduction::Saves::kCallbacks:
      return cost.callbacks_ns * kWorthwhile >= cost.sum();
    default:
      return true;
  }
}

}  // namespace

std::vector<Reduction> reductions_for(const wire::Config& c, bool needs_steps) {
  using Saves = Reduction::Saves;
  const auto traced = [&c](std::uint32_t bits) { return (c.trace & bits) != 0; };
  const auto detail = [&](std::uint32_t bits) {
    return traced(wire::kTraceTorch) && (c.torch_detail & bits) != 0;
  };
  const bool samples = c.rate_hz != 0 && traced(wire::kTracePython | wire::kTraceNative);
  std::vector<Reduction> reductions;
  if ((traced(wire::kTraceCuda) && c.launch_stacks != 0) ||
      detail(wire::kTorchStack | wire::kTorchModules) ||
      (samples && traced(wire::kTracePython) && traced(wire::kTraceNative)))
    reductions.push_back(
        {wire::kThrottleStacks, Saves::kAnywhere, messages::session_target::kNoStacks});
  for (std::uint32_t n = 1; samples && n <= kMaxHalvings && c.rate_hz >> n != 0; ++n)
    reductions.push_back(
        {n << wire::kThrottleRateShift, Saves::kSamples,
         fmt::format(messages::session_target::kFewerSamples, c.rate_hz >> n, c.rate_hz)});
  if (traced(wire::kTraceCuda) || detail(wire::kTorchShapes | wire::kTorchMemory))
    reductions.push_back(
        {wire::kThrottleApi, Saves::kCallbacks, messages::session_target::kNoApiCalls});
  if (traced(wire::kTraceTorch | wire::kTraceNvtx))
    reductions.push_back(
        {wire::kThrottleHost, Saves::kCallbacks, messages::session_target::kNoOperators});
  if (samples)
    reductions.push_back(
        {wire::kThrottleSamples, Saves::kSamples, messages::session_target::kNoSamples});
  using Source = wire::StepSource;
  const auto source = static_cast<Source>(c.step_source);
  const bool among_operators = source == Source::kAuto || source == Source::kUser ||
                               source == Source::kLoop || source == Source::kOptimizer;
  if (among_operators && !needs_steps)
    reductions.push_back(
        {wire::kThrottleSteps, Saves::kCallbacks, messages::session_target::kNoSteps});
  return reductions;
}

std::optional<Governor::Decision> Governor::check(std::uint64_t now_ns, bool recording,
                                                  const ThreadCosts& costs,
                                                  const CpuTime& cpu_time) {
  const std::uint64_t length_ns = looked_ns_ == 0 ? 0 : now_ns - std::min(now_ns, looked_ns_);
  looked_ns_ = now_ns;
  if (!recording) cpu_ns_.clear();
  if (!recording || length_ns == 0 || now_ns < effective_from_ns_) return {};
  add(length_ns, costs, cpu_time);
  const Share worst = largest();
  present_ppm_ = worst.ppm;
  if (covered_ns_ >= kWindowNs) highest_ppm_ = std::max(highest_ppm_, worst.ppm);
  if (worst.ppm <= limit_ppm_ || exhausted_) return {};
  highest_ppm_ = std::max(highest_ppm_, worst.ppm);
  looks_.clear();
  covered_ns_ = 0;
  effective_from_ns_ = now_ns + kSettleNs;
  Decision step{worst.tid, worst.ppm, take_reduction(worst.cost)};
  exhausted_ = !step.reduction;
  return step;
}

void Governor::add(std::uint64_t length_ns, const ThreadCosts& costs, const CpuTime& cpu_time) {
  CheckPeriod check;
  check.length_ns = length_ns;
  std::map<std::uint32_t, std::uint64_t> cpu_ns;
  for (const auto& [tid, cost] : costs) {
    // A thread whose CPU time is not known is taken to have run all the time.
    std::uint64_t ran_ns = length_ns;
    if (const auto cpu = cpu_time(tid); cpu) {
      const auto before = cpu_ns_.find(tid);
      if (before != cpu_ns_.end() && *cpu >= before->second)
        ran_ns = std::min(length_ns, *cpu - before->second);
      cpu_ns[tid] = *cpu;
    }
    Thread& thread = check.threads[tid];
    thread.ran_ns = ran_ns;
    thread.cost.callbacks_ns = std::min(cost.callbacks_ns, length_ns);
    thread.cost.samples_ns = std::min(cost.samples_ns, length_ns - thread.cost.callbacks_ns);
  }
  cpu_ns_ = std::move(cpu_ns);
  covered_ns_ += length_ns;
  looks_.push_back(std::move(check));
  while (looks_.size() > 1 && covered_ns_ - looks_.front().length_ns >= kWindowNs) {
    covered_ns_ -= looks_.front().length_ns;
    looks_.pop_front();
  }
}

// Before a whole second was seen, what is missing of it is taken to cost nothing: who is above the
// limit all the same will be.
Governor::Share Governor::largest() const {
  std::map<std::uint32_t, Thread> threads;
  const std::uint64_t wall_ns = std::max(covered_ns_, kWindowNs);
  for (const CheckPeriod& check : looks_)
    for (const auto& [tid, of_look] : check.threads) {
      Thread& thread = threads.try_emplace(tid, Thread{{}, wall_ns}).first->second;
      thread.cost.callbacks_ns += of_look.cost.callbacks_ns;
      thread.cost.samples_ns += of_look.cost.samples_ns;
      thread.ran_ns -= check.length_ns - of_look.ran_ns;
    }
  Share largest;
  for (const auto& [tid, thread] : threads) {
    const std::uint64_t base_ns = std::max(thread.ran_ns, wall_ns / kMinShare);
    const std::uint64_t ppm = thread.cost.sum() * kMillion / base_ns;
    if (ppm > largest.ppm) largest = {tid, ppm, thread.cost};
  }
  return largest;
}

std::optional<Reduction> Governor::take_reduction(const ThreadCost& cost) {
  if (reductions_.empty()) return {};
  auto selected =
      std::find_if(reductions_.begin(), reductions_.end(),
                   [&cost](const Reduction& reduction) { return worthwhile(reduction, cost); });
  if (selected == reductions_.end()) selected = reductions_.begin();
  Reduction reduction = std::move(*selected);
  reductions_.erase(selected);
  constexpr std::uint32_t kHalvings = wire::kThrottleRateMax << wire::kThrottleRateShift;
  less_ = (reduction.reduced & kHalvings) != 0 ? (less_ & ~kHalvings) | reduction.reduced
                                               : less_ | reduction.reduced;
  reduction.reduced = less_;
  return reduction;
}

}  // namespace gpuprof::session
