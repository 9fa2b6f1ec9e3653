// SPDX-License-Identifier: Apache-2.0
//
// A session whose every number is known: two ranks, two devices, three steps.
//
// docs/trace-format.md works its example through; tests/e2e/viewers expects the viewers' figures.
#pragma once

#include <string>

#include "recording/model/window.hpp"
#include "recording/spool/spool.hpp"

namespace gpuprof::test {

inline constexpr std::uint64_t kScriptStart = 5'000'000'000;  // CLOCK_MONOTONIC
inline constexpr std::uint64_t kScriptReal = 1'700'000'000'000'000'000;

/// Sends one rank's events. Times are microseconds after kScriptStart.
void send_script(std::uint32_t pid, std::uint32_t rank, model::EventSink& sink);

/// Writes spools and the log of both ranks into `folder`; files are to go to `output`.
support::Result<spool::SessionView> write_script(const std::string& folder,
                                                 const std::string& output);
/// The millisecond that holds the three steps.
model::Window script_window();

}  // namespace gpuprof::test
