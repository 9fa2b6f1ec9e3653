// SPDX-License-Identifier: Apache-2.0
//
// From what a client asks for to what is recorded, and when.
//
// Context:  serve; pure
#include "serve/profile_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpuprof/wire/messages.hpp"
#include "serve/messages/serve_requests.hpp"
#include "support/text/text.hpp"

namespace gpuprof::serve {
namespace {

constexpr std::uint64_t kMsNs = 1'000'000;
// For joining the processes, writing the files and sending them.
constexpr std::uint64_t kMinReserveNs = 1'000 * kMsNs;
constexpr std::uint64_t kMaxReserveNs = 10'000 * kMsNs;
// Less is no recording.
constexpr std::uint64_t kMinRecordNs = 10 * kMsNs;
constexpr std::uint32_t kAnyDevice = 0, kGpu = 2;

/// As the protocol has it: options without a version are those of nobody's choice.
RequestedProfile with_defaults(RequestedProfile ask) {
  if (ask.version != 0) return ask;
  ask.host_level = 2;
  ask.device_level = 1;
  ask.python_level = 0;
  ask.device_type = kAnyDevice;
  return ask;
}

std::uint32_t sources(const RequestedProfile& ask) {
  std::uint32_t bits = 0;
  const bool gpu = ask.device_type == kAnyDevice || ask.device_type == kGpu;
  if (ask.device_level >= 1 && gpu) bits |= wire::kTraceCuda;
  if (ask.host_level >= 1) bits |= wire::kTraceNvtx;
  if (ask.host_level >= 2) bits |= wire::kTraceTorch | wire::kTraceNative;
  if (ask.python_level >= 1) bits |= wire::kTracePython;
  return bits;
}

std::uint64_t reserve_of(std::uint64_t remaining_ns) {
  return std::clamp(remaining_ns / 5, kMinReserveNs, kMaxReserveNs);
}

}  // namespace

std::optional<CapturePlan> make_capture_plan(const RequestedProfile& asked, std::uint32_t allowed,
                                             std::uint64_t now_ns,
                                             std::optional<std::uint64_t> remaining_ns,
                                             Rejection* refused) {
  const auto refuse = [refused](RejectReason kind, std::string message) {
    *refused = {kind, std::move(message)};
    return std::nullopt;
  };
  const RequestedProfile ask = with_defaults(asked);
  if (ask.duration_ms == 0)
    return refuse(RejectReason::kBadRequest, messages::serve_requests::kNoDuration);
  if (ask.duration_ms > kMaxDuration_ns / kMsNs)
    return refuse(RejectReason::kBadRequest, messages::serve_requests::kTooLong);
  CapturePlan plan;
  plan.wait_ns = ask.start_ns > now_ns ? ask.start_ns - now_ns : 0;
  if (plan.wait_ns > kMaxDuration_ns)
    return refuse(RejectReason::kBadRequest, messages::serve_requests::kTooLate);
  plan.record_ns = ask.duration_ms * kMsNs;
  plan.trace = sources(ask) & allowed;
  if (!remaining_ns) return plan;
  const std::uint64_t before = plan.wait_ns + reserve_of(*remaining_ns);
  if (before + kMinRecordNs > *remaining_ns)
    return refuse(RejectReason::kTooLate, fmt::format(messages::serve_requests::kDeadlineTooShort,
                                                      support::human_duration(*remaining_ns)));
  plan.record_ns = std::min(plan.record_ns, *remaining_ns - before);
  return plan;
}

}  // namespace gpuprof::serve
