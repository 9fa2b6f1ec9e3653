// SPDX-License-Identifier: Apache-2.0
//
// Makes a copy of a shared object in which given exported symbols cannot be found any more.
//
// Context:  tools
// Owns:     nothing
// Promises: dlsym and the loader really do not find the names; everything else stays byte for byte
// Not here: which symbols (gpusim_run.cpp)
#pragma once

#include <string>
#include <vector>

namespace gpusim {

/// Copies `from` to `to` with `symbols` renamed in the dynamic string table.
/// @param required How many of them, from the first, must be there.
/// @return empty on success, else a sentence (for example naming the symbol that was not exported).
std::string hide_symbols(const std::string& from, const std::string& to,
                         const std::vector<std::string>& symbols, std::size_t required);

}  // namespace gpusim
