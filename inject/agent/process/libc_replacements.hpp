// SPDX-License-Identifier: Apache-2.0
//
// The calls that take a signal without a handler, and those by which handlers fork and exit, for a
// library that was loaded too late for callers to have been bound to it by name.
//
// Context:  worker
#pragma once

#include "inject/got/patches.hpp"

namespace gpuprof::agent {

/// sigwait and the like, as inject/entry/interpose_sigwait.cpp defines them; null in unit tests.
extern const got::Replacement kSigwaitReplacements[] __attribute__((weak));

/// fork and exit, as inject/entry/interpose_fork_exit.cpp defines them; null in unit tests.
extern const got::Replacement kForkExitReplacements[] __attribute__((weak));

}  // namespace gpuprof::agent
