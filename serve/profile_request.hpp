// SPDX-License-Identifier: Apache-2.0
//
// From what a client asks for to what is recorded, and when.
//
// Context:  serve; pure
// Owns:     nothing
// Promises: nothing the client says becomes a path, a word of a command or a line of a log
// Not here: the messages themselves (profiler_service_impl.cpp)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gpuprof::serve {

/// What of a ProfileRequest counts. Times as the client gives them: 0 is "not said".
struct RequestedProfile {
  /// ProfileOptions.version; 0: the levels and the kind of device are not said.
  std::uint32_t version = 0;
  std::uint32_t device_type = 0;  // 0 any, 1 CPU, 2 GPU, 3 TPU, 4 another
  std::uint32_t host_level = 0, device_level = 0, python_level = 0;
  std::uint64_t start_ns = 0;  // since the epoch
  std::uint64_t duration_ms = 0;
};

/// The recording that a request asks for.
struct CapturePlan {
  std::uint64_t wait_ns = 0, record_ns = 0;
  std::uint32_t trace = 0;  // wire::kTrace… bits; 0: nothing is wanted
};

enum class RejectReason { kBadRequest, kTooLate };

struct Rejection {
  RejectReason kind = RejectReason::kBadRequest;
  std::string message;
};

/// Longest recording, and longest delay, of one request.
inline constexpr std::uint64_t kMaxDuration_ns = 3'600'000'000'000;

/// Recording ends so early that the answer can be there before the deadline.
///
/// @param allowed       Sources that may be recorded at all, wire::kTrace… bits.
/// @param now_ns        Since the epoch.
/// @param remaining_ns  Until the client's deadline; none: it waits for ever.
/// @param refused       Why there is no plan, where there is none.
std::optional<CapturePlan> make_capture_plan(const RequestedProfile& ask, std::uint32_t allowed,
                                             std::uint64_t now_ns,
                                             std::optional<std::uint64_t> remaining_ns,
                                             Rejection* refused);

}  // namespace gpuprof::serve
