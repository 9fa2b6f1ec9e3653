// SPDX-License-Identifier: Apache-2.0
//
// How one record becomes bytes in a ring buffer, and how it is read back from them.
//
// Context:  any (signal-safe)
// Promises: a reader that omits a record type does not compile; unknown kinds are skipped by length
// Not here: the ring itself (ring_buffer.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/wire/records.hpp"

namespace gpuprof::wire {

/// In front of every record. length counts the whole frame: header, body, tail, padding.
struct FrameHeader {
  std::uint32_t length;    // bytes, a multiple of 8, >= 8
  std::uint16_t kind;      // Kind
  std::uint16_t tail_pad;  // padding bytes after the tail, 0..7
};
static_assert(sizeof(FrameHeader) == 8);

/// Longest frame: a quarter of the smallest ring buffer.
inline constexpr std::uint32_t kMaxFrameBytes = 16384;

constexpr std::uint32_t frame_bytes(std::uint32_t body_bytes, std::uint32_t tail_bytes) {
  return static_cast<std::uint32_t>(
      base::align_up(sizeof(FrameHeader) + body_bytes + tail_bytes, 8));
}

enum class Decoded { kOk, kUnknownKind, kMalformed };

namespace detail {
template <typename R, typename Visitor>
Decoded visit_as(const std::byte* body, std::size_t bytes, Visitor&& visitor) {
  if (bytes < sizeof(R)) return Decoded::kMalformed;
  R record;
  std::memcpy(&record, body, sizeof record);
  visitor(record, body + sizeof record, bytes - sizeof record);
  return Decoded::kOk;
}

template <typename Visitor, typename... R>
Decoded visit_kind(RecordList<R...>, Kind kind, const std::byte* body, std::size_t bytes,
                   Visitor&& visitor) {
  Decoded result = Decoded::kUnknownKind;
  (void)((kind == R::kKind ? (result = visit_as<R>(body, bytes, visitor), true) : false) || ...);
  return result;
}
}  // namespace detail

/// Calls visitor(record, tail, tail_bytes) for one frame that was already copied out of
/// shared memory. `visitor` must accept every type of Records.
///
/// @param payload What follows the FrameHeader; `payload_bytes` excludes header and padding.
/// @return kUnknownKind for kinds of a later minor version, kMalformed when too short.
template <typename Visitor>
Decoded visit_record(Kind kind, const std::byte* payload, std::size_t payload_bytes,
                     Visitor&& visitor) {
  return detail::visit_kind(Records{}, kind, payload, payload_bytes, visitor);
}

}  // namespace gpuprof::wire
