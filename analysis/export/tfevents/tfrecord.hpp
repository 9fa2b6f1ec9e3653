// SPDX-License-Identifier: Apache-2.0
//
// TFRecord framing: length, its checksum, the record, its checksum.
//
// Context:  daemon (export thread) | cli
// Not here: what is in the records (tfevents_writer.cpp)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::exporter {

/// CRC-32C, rotated and shifted as TFRecord stores it.
std::uint32_t masked_crc32c(std::string_view bytes);

/// `record` with what stands around it in a file.
std::string tfrecord(std::string_view record);

}  // namespace gpuprof::exporter
