// SPDX-License-Identifier: Apache-2.0
//
// Times, shares and sizes in sentences of advice.
//
// Context:  cli
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/report/advice/advice.hpp"

namespace gpuprof::report::advice {

/// "1.06 ms", "35 us", "2.3 s".
std::string format_time(double ns);
/// "9.8 %", "0.12 %".
std::string format_share(double share);
/// "4.0 MB".
std::string format_bytes(double bytes);
/// "3", "0.3".
std::string format_count(double count);

/// "once", "3 times", "0.3 times".
std::string format_times(double count);
/// "per step"; of a recording without steps "in total".
std::string_view per_step_text(const Advice& advice);

/// The line of the loop whose iterations the steps are, if one is known.
SourceLocation step_loop_location(const RuleInput& subject);

/// Advice of `subject` with its share of the step; `total_ns` is of all steps that count.
Advice make_advice(const RuleInput& subject, std::string_view rule, const SourceLocation& where,
                   double total_ns);

}  // namespace gpuprof::report::advice
