// SPDX-License-Identifier: Apache-2.0
//
// A text as one cell of a CSV file (RFC 4180).
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: valid UTF-8 without NUL; no spreadsheet takes it for a formula
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::support {

/// In quotes where it has to be, with quotes in it doubled. A text that begins as a formula does
/// (= + - @, a tab, a line's end) gets an apostrophe in front: such a text comes from whoever wrote
/// the program or the trace, and spreadsheets would carry it out. Numbers are no texts.
///
/// @param storage  holds what is returned where that is not `text` itself
std::string_view escape_csv_cell(std::string_view text, std::string& storage);

}  // namespace gpuprof::support
