// SPDX-License-Identifier: Apache-2.0
//
// From what a client asks for to what is recorded, and when.
//
// Context:  serve; pure
#include "serve/profile_request.hpp"

#include <algorithm>

#include "gpuprof/wire/messages.hpp"
#include "support/text/text.hpp"

namespace gpuprof::serve {
namespace {

constexpr std::uint64_t kMs_ns = 1'000'000;
// For joining the processes, writing the files and sending them.
constexpr std::uint64_t kLeastReserve_ns = 1'000 * kMs_ns;
constexpr std::uint64_t kMostReserve_ns = 10'000 * kMs_ns;
// Less is no recording.
constexpr std::uint64_t kLeastRecord_ns = 10 * kMs_ns;
constexpr std::uint32_t kAnyDevice = 0, kGpu = 2;

/// As the protocol has it: options without a version are those of nobody's choice.
Ask with_defaults(Ask ask) {
  if (ask.version != 0) return ask;
  ask.host_level = 2;
  ask.device_level = 1;
  ask.python_level = 0;
  ask.device_type = kAnyDevice;
  return ask;
}

std::uint32_t sources(const Ask& ask) {
  std::uint32_t bits = 0;
  const bool gpu = ask.device_type == kAnyDevice || ask.device_type == kGpu;
  if (ask.device_level >= 1 && gpu) bits |= wire::kTraceCuda;
  if (ask.host_level >= 1) bits |= wire::kTraceNvtx;
  if (ask.host_level >= 2) bits |= wire::kTraceTorch | wire::kTraceNative;
  if (ask.python_level >= 1) bits |= wire::kTracePython;
  return bits;
}

std::uint64_t reserve_of(std::uint64_t remaining_ns) {
  return std::clamp(remaining_ns / 5, kLeastReserve_ns, kMostReserve_ns);
}

}  // namespace

std::optional<Plan> plan_of(const Ask& asked, std::uint32_t allowed, std::uint64_t now_ns,
                            std::optional<std::uint64_t> remaining_ns, Refused* refused) {
  const auto refuse = [refused](Refusal kind, std::string sentence) {
    *refused = {kind, std::move(sentence)};
    return std::nullopt;
  };
  const Ask ask = with_defaults(asked);
  if (ask.duration_ms == 0)
    return refuse(Refusal::kBadRequest,
                  "the request says no duration, so there is nothing to record");
  if (ask.duration_ms > kMost_ns / kMs_ns)
    return refuse(Refusal::kBadRequest,
                  "the duration is longer than an hour, the longest that is recorded at once");
  Plan plan;
  plan.wait_ns = ask.start_ns > now_ns ? ask.start_ns - now_ns : 0;
  if (plan.wait_ns > kMost_ns)
    return refuse(Refusal::kBadRequest,
                  "the recording is to start in more than an hour; do the "
                  "clocks of the two machines agree?");
  plan.record_ns = ask.duration_ms * kMs_ns;
  plan.trace = sources(ask) & allowed;
  if (!remaining_ns) return plan;
  const std::uint64_t before = plan.wait_ns + reserve_of(*remaining_ns);
  if (before + kLeastRecord_ns > *remaining_ns)
    return refuse(Refusal::kTooLate, "the client waits for " +
                                         support::human_duration(*remaining_ns) +
                                         " only, which is too short to record and to answer");
  plan.record_ns = std::min(plan.record_ns, *remaining_ns - before);
  return plan;
}

}  // namespace gpuprof::serve
