// SPDX-License-Identifier: Apache-2.0
//
// Executable memory that is of no module: what run-time compilers generated.
//
// Context:  signal | callback (is_jit_code, request_jit_scan), worker (the rest)
// Owns:     one table of ranges
// Promises: a reader never waits; while the table is being written an address may be unknown
// Not here: how frames there are left (heuristic_step.hpp)
//
// The kernel's list of mappings is read only after a walk has met an address in no module, and
// again only when one meets another such address: a program without such code never pays for it.
#pragma once

#include <cstdint>

namespace gpuprof::sample {

/// Whether the address was in such memory when the list was last read.
bool is_jit_code(std::uint64_t address);

/// A walk has come to `address`, which is in no module and not known to be generated code.
void request_jit_scan(std::uint64_t address);

/// Reads the list if a walk has asked for it, no more often than is worthwhile. New ranges are
/// reported to the daemon. Worker.
void scan_jit_code(std::uint64_t now_ns);

/// No walk is under way, nor will be before the next prepare(). Worker.
void clear_jit_code();

}  // namespace gpuprof::sample
