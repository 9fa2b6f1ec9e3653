// SPDX-License-Identifier: Apache-2.0
//
// Several clients of the simulated CUPTI in one process, and what each of them is given.
//
// Context:  tests
// Owns:     nothing
// Promises: the truth log is the witness; the clients are shared objects of their own
// Not here: one client (delivery_test.cpp), awkward behaviours (scenario_test.cpp)
#include <gtest/gtest.h>

#include "run_support.hpp"
