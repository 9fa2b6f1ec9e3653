// SPDX-License-Identifier: Apache-2.0
//
// Values and changes as a person reads them.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <cstddef>
#include <string>

#include "analysis/report/diff/data/metrics.hpp"

namespace gpuprof::report::diff {

/// `1.234ms`, `3.4 MiB`, `12`.
std::string format_value(double value, Unit unit);
/// `+5.0 %`; `new` and `gone` where one of the two is nothing.
std::string format_change(double before, double after);
/// A share as `12.3 %`.
std::string format_percent(double share);
/// At most `width` bytes, whole letters; what was cut ends in `...`.
std::string truncate_text(const std::string& text, std::size_t width);

}  // namespace gpuprof::report::diff
