// SPDX-License-Identifier: Apache-2.0
//
// Times, shares and sizes in sentences of advice.
//
// Context:  cli
#pragma once

#include <cstdint>
#include <string>

#include "analysis/report/advice/advice.hpp"

namespace gpuprof::report::advice {

/// "1.06 ms", "35 us", "2.3 s".
std::string time_text(double ns);
/// "9.8 %", "0.12 %".
std::string share_text(double share);
/// "4.0 MB".
std::string bytes_text(double bytes);
/// "3", "0.3".
std::string count_text(double count);

/// The line of the loop whose iterations the steps are, if one is known.
Where loop_of(const Subject& subject);

/// Advice of `subject` with its share of the step; `total_ns` is of all steps that count.
Advice start_advice(const Subject& subject, std::string_view rule, const Where& where,
                    double total_ns);

}  // namespace gpuprof::report::advice
