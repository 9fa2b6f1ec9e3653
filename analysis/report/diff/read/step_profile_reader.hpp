// SPDX-License-Identifier: Apache-2.0
//
// From the spool of one process to a StepProfile.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/report/diff/data/step_profile.hpp"
#include "recording/model/window.hpp"
#include "recording/spool/spool.hpp"
#include "support/result.hpp"

namespace gpuprof::report::diff {

struct ReadOptions {
  bool ignore_steps = false;  // cut into slices of time also where there are steps
  std::function<void(std::uint64_t events)> progress;  // events just read
};

/// Reads what one process did in the windows given.
///
/// Errors: a spool that cannot be read.
support::Result<StepProfile> read_step_profile(const spool::SessionView& session,
                                               const spool::ProcessEntry& process,
                                               const std::vector<model::Window>& windows,
                                               const ReadOptions& options);

}  // namespace gpuprof::report::diff
