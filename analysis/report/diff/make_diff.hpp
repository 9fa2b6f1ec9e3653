// SPDX-License-Identifier: Apache-2.0
//
// Two sessions compared, process by process.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/diff/data/diff.hpp"
#include "recording/model/window.hpp"
#include "recording/spool/spool.hpp"
#include "support/result.hpp"

namespace gpuprof::report::diff {

/// One of the two, with its processes selected and its windows finalised.
struct DiffInput {
  const spool::SessionView& session;
  const std::vector<model::Window>& windows;
  std::string named;  // as the person did
  ImportSummary reading = {};
};

struct DiffOptions {
  Limits limits;
  std::optional<std::uint32_t> rank;                   // only this one
  std::function<void(std::uint64_t events)> progress;  // events just read
};

/// Processes of the same rank are compared; without ranks the first with the first.
///
/// Errors: nothing recorded; no such rank; a simulated GPU on one side and a real one on the other.
support::Result<Diff> make_diff(const DiffInput& before, const DiffInput& after,
                                const DiffOptions& options);

}  // namespace gpuprof::report::diff
