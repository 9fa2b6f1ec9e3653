// SPDX-License-Identifier: Apache-2.0
//
// Names of callbacks and results, generated from the toolkit's headers when this is built.
//
// Context:  any
// Owns:     nothing
// Promises: static strings; null for unknown numbers
// Not here: the generator (cmake/generate_names.cmake)
#pragma once

#include <cstdint>

namespace gpusim {

/// Name of a callback id, version suffix included, or null.
const char* callback_name(int domain, std::uint32_t cbid);

/// Name of a CUptiResult value, or null.
const char* result_name(int result);

}  // namespace gpusim
