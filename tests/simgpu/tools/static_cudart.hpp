// SPDX-License-Identifier: Apache-2.0
//
// Whether a program brings its own copy of the CUDA runtime.
//
// Context:  tools
// Owns:     nothing
// Promises: a file that is no 64-bit ELF, or cannot be read, has none
#pragma once

#include <string>

namespace gpusim {

/// The runtime is linked into the file: it asks the driver for tables that nobody documents, so the
/// program cannot run on the simulated GPU.
bool has_static_cudart(const std::string& file);

/// Whether `word` stands in the file between two zero bytes, as names of symbols do.
bool holds_word(const std::string& file, const std::string& word);

}  // namespace gpusim
