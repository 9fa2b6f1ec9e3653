// SPDX-License-Identifier: Apache-2.0
//
// One record as one line on stdout.
//
// Context:  test programs
// Owns:     nothing
// Promises: reads only what all layouts share
// Not here: what a line means to a test (run_support.hpp)
#pragma once

#include "client/cupti_table.hpp"

namespace client {

/// Prints `record`; `prefix` is put before the first word.
void print_record(const CuptiTable& cupti, const CUpti_Activity* record, const char* prefix);

}  // namespace client
