// SPDX-License-Identifier: Apache-2.0
//
// The frame around a spool's bytes: file header, block header, compression, checksum.
//
// Context:  daemon
// Promises: unpack accepts only lengths below the limits and bytes whose checksum holds
// Not here: what the bytes say (event_coding.hpp); docs/spool-format.md has the picture
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gpuprof::spool {

inline constexpr char kFileMagic[8] = {'G', 'P', 'S', 'P', 'O', 'O', 'L', '\n'};
/// Raised with every change of fields.hpp or of a struct below; readers take only their own.
inline constexpr std::uint32_t kSpoolVersion = 3;

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
};
static_assert(sizeof(FileHeader) == 16);

inline constexpr std::uint32_t kBlockMagic = 0x4b4c4247;  // "GBLK"
inline constexpr std::uint32_t kBlockDeflated = 1;        // else stored as it is
inline constexpr std::uint32_t kBlockDefinitions = 2;     // holds definitions: never skipped

struct BlockHeader {
  std::uint32_t magic;
  std::uint32_t crc;  // CRC-32 of the header after this field, then of the stored bytes
  std::uint32_t sequence;
  std::uint32_t flags;
  std::uint32_t raw_bytes;
  std::uint32_t stored_bytes;
  std::uint32_t events;       // timed ones
  std::uint32_t definitions;  // the others
  std::uint64_t min_ns;       // earliest start of its events; ~0 if none
  std::uint64_t max_ns;       // latest end of its events; 0 if none
};
static_assert(sizeof(BlockHeader) == 48);

/// A block is closed once it holds this much.
inline constexpr std::size_t kBlockBytes = 128 * 1024;
/// No honest block is larger (one event with everything at its limits).
inline constexpr std::size_t kMaxRawBytes = 1024 * 1024;

std::uint32_t block_crc(const BlockHeader& header, std::span<const std::byte> stored);

/// Deflates blocks, with its work space.
class BlockPacker {
 public:
  BlockPacker();
  ~BlockPacker();

  /// Header and stored bytes of a block as they lie in the file; borrowed until the next call.
  std::span<const std::byte> pack(BlockHeader header, std::span<const std::byte> raw);

 private:
  struct Work;
  std::unique_ptr<Work> work_;
  std::vector<std::byte> out_;
};

/// True if the header is possible: magic and lengths.
bool plausible(const BlockHeader& header);

/// Inflates a block into `raw`; false if the checksum or the length does not hold.
bool unpack(const BlockHeader& header, std::span<const std::byte> stored,
            std::vector<std::byte>& raw);

}  // namespace gpuprof::spool
