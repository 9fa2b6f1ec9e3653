// SPDX-License-Identifier: Apache-2.0
//
// The summary in words, for stderr at the end of a run.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <string>

#include "recording/session/summary.hpp"

namespace gpuprof::cli {

/// Lines, each beginning with "gpuprof: ", the last with its newline.
std::string summary_text(const recording::Summary& summary);

/// The part of it that is printed even with -q: failures and how to recover from them; "" where
/// there are none.
std::string failures_text(const recording::Summary& summary);

}  // namespace gpuprof::cli
