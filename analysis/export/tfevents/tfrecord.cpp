// SPDX-License-Identifier: Apache-2.0
//
// Framing by ISA-L's checksum.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/tfevents/tfrecord.hpp"

#include <isa-l/crc.h>

#include <bit>
#include <concepts>

namespace gpuprof::exporter {
namespace {

constexpr std::uint32_t kMask = 0xa282ead8;
constexpr int kRotated = 15;

template <std::unsigned_integral Number>
void append_little_endian(std::string& out, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) out += static_cast<char>(number >> 8 * i & 0xff);
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  // ISA-L leaves both inversions to its caller and takes what it reads for writable.
  auto* const data =
      const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  const std::uint32_t crc = ~crc32_iscsi(data, static_cast<int>(bytes.size()), ~0u);
  return std::rotr(crc, kRotated) + kMask;
}

std::string tfrecord(std::string_view record) {
  std::string out;
  append_little_endian(out, std::uint64_t{record.size()});
  append_little_endian(out, masked_crc32c(out));
  out += record;
  append_little_endian(out, masked_crc32c(record));
  return out;
}

}  // namespace gpuprof::exporter
