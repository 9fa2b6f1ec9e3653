// SPDX-License-Identifier: Apache-2.0
//
// Blocks by ISA-L: its level 1 deflates several hundred MB/s, its CRC several GB/s.
//
// Context:  daemon
#include "recording/spool/block.hpp"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <cstring>

namespace gpuprof::spool {
namespace {

constexpr std::size_t kCrcFrom = offsetof(BlockHeader, sequence);

std::uint32_t crc32(std::uint32_t seed, const void* data, std::size_t bytes) {
  return crc32_gzip_refl(seed, static_cast<const unsigned char*>(data), bytes);
}

}  // namespace

std::uint32_t block_crc(const BlockHeader& header, std::span<const std::byte> stored) {
  const auto* from = reinterpret_cast<const char*>(&header) + kCrcFrom;
  const std::uint32_t head = crc32(0, from, sizeof header - kCrcFrom);
  return crc32(head, stored.data(), stored.size());
}

struct BlockPacker::Work {
  isal_zstream stream;
  std::vector<std::uint8_t> level = std::vector<std::uint8_t>(ISAL_DEF_LVL1_DEFAULT);
};

BlockPacker::BlockPacker() : work_(std::make_unique<Work>()) {}
BlockPacker::~BlockPacker() = default;

std::span<const std::byte> BlockPacker::pack(BlockHeader header, std::span<const std::byte> raw) {
  out_.resize(sizeof header + raw.size() + 64);
  isal_zstream& stream = work_->stream;
  isal_deflate_stateless_init(&stream);
  stream.level = 1;
  stream.level_buf = work_->level.data();
  stream.level_buf_size = static_cast<std::uint32_t>(work_->level.size());
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  // ISA-L's input pointer lacks const; it does not write there.
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(raw.data()));
  stream.avail_in = static_cast<std::uint32_t>(raw.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out_.data() + sizeof header);
  stream.avail_out = static_cast<std::uint32_t>(raw.size());
  const bool smaller = isal_deflate_stateless(&stream) == COMP_OK && stream.avail_in == 0 &&
                       stream.total_out < raw.size();
  header.magic = kBlockMagic;
  header.raw_bytes = static_cast<std::uint32_t>(raw.size());
  if (smaller) {
    header.flags |= kBlockDeflated;
    header.stored_bytes = stream.total_out;
  } else {
    header.flags &= ~kBlockDeflated;
    header.stored_bytes = header.raw_bytes;
    std::memcpy(out_.data() + sizeof header, raw.data(), raw.size());
  }
  const std::span<const std::byte> whole(out_.data(), sizeof header + header.stored_bytes);
  header.crc = block_crc(header, whole.subspan(sizeof header));
  std::memcpy(out_.data(), &header, sizeof header);
  return whole;
}

bool plausible(const BlockHeader& header) {
  return header.magic == kBlockMagic && header.raw_bytes <= kMaxRawBytes &&
         header.stored_bytes <= header.raw_bytes && header.raw_bytes > 0;
}

bool unpack(const BlockHeader& header, std::span<const std::byte> stored,
            std::vector<std::byte>& raw) {
  if (block_crc(header, stored) != header.crc) return false;
  if ((header.flags & kBlockDeflated) == 0) {
    raw.assign(stored.begin(), stored.end());
    return header.stored_bytes == header.raw_bytes;
  }
  raw.resize(header.raw_bytes);
  inflate_state state;
  isal_inflate_init(&state);
  state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(stored.data()));
  state.avail_in = static_cast<std::uint32_t>(stored.size());
  state.next_out = reinterpret_cast<std::uint8_t*>(raw.data());
  state.avail_out = header.raw_bytes;
  return isal_inflate_stateless(&state) == ISAL_DECOMP_OK && state.total_out == header.raw_bytes;
}

}  // namespace gpuprof::spool
