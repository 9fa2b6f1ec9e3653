// SPDX-License-Identifier: Apache-2.0
//
// What a target leaves out under --max-overhead, and who hears of it.
//
// Context:  daemon (ingest thread)
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>

#include "daemon/messages/session_target.hpp"
#include "daemon/session/target/target.hpp"

namespace gpuprof::session {
namespace {

std::string seconds(std::uint64_t ns) {
  return fmt::format("{:.2f} s", static_cast<double>(ns) / 1e9);
}

}  // namespace

void Target::set_overhead_limit(std::uint64_t limit_ppm, std::vector<Reduction> reductions) {
  if (limit_ppm != 0) overhead_.emplace(limit_ppm, std::move(reductions), identity_.pid);
}

void Target::check_overhead(std::uint64_t now_ns) {
  if (finished_ || !overhead_) return;
  if (const auto step = overhead_->look(segment_, recording_, now_ns))
    apply_reduction(*step, now_ns);
}

// The agent reads what it leaves out after it has seen a new number of the plan.
void Target::apply_reduction(const Governor::Decision& step, std::uint64_t now_ns) {
  if (step.reduction) {
    wire::Plan& shared = segment_.plan();
    shared.throttle.store(step.reduction->reduced, std::memory_order_relaxed);
    shared.sequence.store(static_cast<std::uint32_t>(++sequence_), std::memory_order_release);
    if ((step.reduction->reduced & wire::kThrottleHost) != 0 && !host_left_out_)
      close_at_ = sequence_;
    host_left_out_ = (step.reduction->reduced & wire::kThrottleHost) != 0;
    if (connected()) connection_->send(wire::PlanChanged{sequence_});
    wire::wake_agent(shared);
  }
  report_reduction(step, now_ns);
}

void Target::report_reduction(const Governor::Decision& step, std::uint64_t now_ns) {
  const std::string what =
      step.reduction ? step.reduction->what : messages::session_target::kNoReductionLeft;
  const std::string text = fmt::format(messages::session_target::kReduced, what,
                                       seconds(now_ns - std::min(now_ns, start_ns_)), identity_.pid,
                                       overhead_->describe(step));
  spdlog::warn("{}", text);
  report_missing(wire::Feature::kGeneral, text, now_ns);
  if (left_out_.empty()) writer_->on(model::Domain{ingest::kGpuprofDomain, "gpuprof"});
  assembler_->add_own_mark("gpuprof: " + what, step.tid, now_ns);
  left_out_.push_back({step.tid, now_ns, step.share_ppm, what});
}

void Target::write_overhead() {
  if (!overhead_) return;
  const auto fact = [this](const char* key, const std::string& value) {
    writer_->on(model::Fact{key, value});
  };
  fact("overhead.limit", percent_text(overhead_->limit_ppm()));
  fact("overhead.own_ns", std::to_string(overhead_->own_ns()));
  fact("overhead.highest", percent_text(overhead_->governor().highest_ppm()));
  fact("overhead.last", percent_text(overhead_->governor().current_ppm()));
}

}  // namespace gpuprof::session
