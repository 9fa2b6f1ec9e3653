// SPDX-License-Identifier: Apache-2.0
//
// A byte of a trace's text as a person finds it: line, column, what stands around it, and who most
// likely wrote the file.
//
// Context:  cli through analysis/commands
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>

namespace gpuprof::importer {

/// Reads the file once more, up to there.
///
/// @param offset  into the unpacked text, from 0
/// @return `at line 12, column 34 (…40 characters…)`; columns are bytes, from 1
std::string describe_position(const std::string& path, std::uint64_t offset);

/// By the words in its first bytes: `torch.profiler (Kineto)`; empty: nothing tells.
std::string guess_writer(const std::string& path);

}  // namespace gpuprof::importer
