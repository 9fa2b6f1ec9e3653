// SPDX-License-Identifier: Apache-2.0
//
// Version number and record sizes of the CUDA release being emulated.
//
// Context:  any
// Owns:     nothing
// Promises: sizes follow the table in README.md; records only ever grow at their tail
// Not here: field offsets (records.cpp, taken from the toolkit's headers)
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpusim {

constexpr std::size_t kMaxRecordBytes = 288;
/// Kind no client and no iterator knows.
constexpr std::uint32_t kUnknownKind = 200;
/// Kind that only the `future` layout has; its iterator knows it, clients do not.
constexpr std::uint32_t kFutureKind = 60;

/// Value of cuptiGetVersion.
std::uint32_t api_version();

/// Bytes of a record of `kind`, or 0 if the emulated library does not know the kind.
std::size_t record_size(std::uint32_t kind);

/// Whether enabling `kind` gives error 38 (removed in 13.0).
bool removed_kind(std::uint32_t kind);

}  // namespace gpusim
