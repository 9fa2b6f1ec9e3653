// SPDX-License-Identifier: Apache-2.0
//
// Version number and record sizes of the CUDA release being emulated.
//
// Context:  any
// Owns:     nothing
// Promises: 13.0 and 13.2 as their headers have them; records grow at their tail only
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

/// Fields that came after the headers this is built with (13.0), by their offset in the records of
/// 13.2: CUpti_ActivityKernel11, CUpti_ActivityContext4, CUpti_ActivityDevice6.
constexpr std::size_t kKernelPriorityAt = 216;
constexpr std::size_t kContextProcessIdAt = 32;
constexpr std::size_t kDeviceTpcsAt = 184;

/// Value of cuptiGetVersion.
std::uint32_t api_version();

/// Bytes of a record of `kind`, or 0 if the emulated library does not know the kind.
std::size_t record_size(std::uint32_t kind);

/// The same for a release named by its cuptiGetVersion value, as far as the emulated one knows it.
std::size_t record_size_in(std::uint32_t kind, std::uint32_t version);

/// Whether enabling `kind` gives error 38 (removed in 13.0).
bool removed_kind(std::uint32_t kind);

}  // namespace gpusim
