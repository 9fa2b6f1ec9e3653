// SPDX-License-Identifier: Apache-2.0
//
// Advice for a terminal, and for programs.
//
// Context:  cli
#pragma once

#include <span>
#include <string>

#include "analysis/report/advice/advice.hpp"
#include "support/text/json.hpp"

namespace gpuprof::report::advice {

/// Some lines for each piece, the largest share first; one line where there is none.
///
/// @param width Characters a line; longer sentences are broken.
std::string advice_text(std::span<const Advice> advice, std::size_t width);

/// An array of objects: rule, title, what, change, share_percent, of, ns_per_step, file, line,
/// last_line, function, line_source, pid, rank, processes, figures. The member's key is the
/// caller's.
void write_advice(std::span<const Advice> advice, support::JsonWriter& json);

}  // namespace gpuprof::report::advice
