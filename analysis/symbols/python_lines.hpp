// SPDX-License-Identifier: Apache-2.0
//
// Line numbers from the three formats of CPython's line tables.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: any bytes are accepted; a line that the table does not tell is 0, never a guess
// Not here: how the table left the process (inject/python)
#pragma once

#include <cstdint>
#include <string_view>

namespace gpuprof::symbols {

/// Line of the instruction at `instr_offset` bytes of byte code.
///
/// @param table        co_lnotab up to 3.9, co_linetable from 3.10 on.
/// @param py_minor     Selects the format: 8 … 14.
/// @param instr_offset Negative: the frame has not started, its first line is the answer.
/// @return             0 if the instruction has no line or lies outside the table.
int python_line(std::string_view table, std::uint16_t py_minor, std::int32_t first_line,
                std::int32_t instr_offset);

}  // namespace gpuprof::symbols
