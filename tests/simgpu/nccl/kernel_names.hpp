// SPDX-License-Identifier: Apache-2.0
//
// Names and shapes of the kernels that the simulated NCCL launches. Invented: the spelling follows
// what the real library shows in profiles, the figures are plausible, none is measured.
//
// Context:  application threads
// Owns:     nothing
// Promises: the same call always gives the same kernel; every name demangles
// Not here: how long they last (core/collective/collective.cpp)
#pragma once

#include <vector>

#include "core/collective/collective.hpp"
#include "core/work/library_kernel.hpp"

namespace gpusim {

LibraryKernel kernel_of(const Collective& collective, int ranks);
LibraryKernel kernel_of(const std::vector<Message>& messages, int ranks);

}  // namespace gpusim
