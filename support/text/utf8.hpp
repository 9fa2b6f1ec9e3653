// SPDX-License-Identifier: Apache-2.0
//
// Bytes that somebody calls text, as UTF-8: names in a process are whatever it made them.
//
// Context:  daemon | cli
// Owns:     nothing
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof::support {

/// Bytes of the UTF-8 character at the begin of `text`, which is not empty; 0 if there is none.
std::size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

/// The text with U+FFFD for each byte that is not UTF-8.
std::string to_utf8(std::string_view text);

}  // namespace gpuprof::support
