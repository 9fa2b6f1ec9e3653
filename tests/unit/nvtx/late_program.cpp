// SPDX-License-Identifier: Apache-2.0
//
// A copy of the NVTX header of its own.
//
// Context:  tests
#include "tests/unit/nvtx/late_program.hpp"

#include <nvtx3/nvToolsExt.h>

int late_push(const char* text) { return nvtxRangePushA(text); }
int late_pop() { return nvtxRangePop(); }
