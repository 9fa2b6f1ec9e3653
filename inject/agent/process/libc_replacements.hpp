// SPDX-License-Identifier: Apache-2.0
//
// The calls that take a signal without a handler, and those that handlers fork and end by, for a
// library that came too late to be asked for them by name.
//
// Context:  worker
// Owns:     nothing
#pragma once

#include "inject/got/patches.hpp"

namespace gpuprof::agent {

/// sigwait and its kind, as inject/entry/interpose_sigwait.cpp has them; null in unit tests.
extern const got::Replacement kSigwaitReplacements[] __attribute__((weak));

/// fork and exit, as inject/entry/interpose_fork_exit.cpp has them; null in unit tests.
extern const got::Replacement kForkExitReplacements[] __attribute__((weak));

}  // namespace gpuprof::agent
