// SPDX-License-Identifier: Apache-2.0
//
// Translates CUPTI's bytes into wire records: pure functions over fixed offsets and probed sizes.
//
// Context:  callback
// Promises: reads only [record, record + bytes); a field beyond `bytes` reads as 0; any bytes are
//           accepted; names are handed out as pointers, never followed here
// Not here: the loop over a buffer (buffer_callbacks.cpp), name ids (name_ids.hpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuprof/wire/records.hpp"

namespace gpuprof::cupti {

/// One record in CUPTI's memory. `bytes` is its probed size.
struct RawRecord {
  const std::byte* data;
  std::uint16_t bytes;
  std::uint32_t version;  // of cuptiGetVersion
};

/// How the two times of a device record look.
enum class TimestampState : std::uint8_t { kGood, kBad, kIncomplete };

/// kIncomplete: started but no end (a forced flush); kBad: both zero, or reversed.
constexpr TimestampState classify_timestamps(std::uint64_t start_ns, std::uint64_t end_ns) {
  if (start_ns != 0 && end_ns == 0) return TimestampState::kIncomplete;
  return start_ns == 0 || end_ns < start_ns ? TimestampState::kBad : TimestampState::kGood;
}

/// Flags of MemCopy::flags and MemSet::flags.
inline constexpr std::uint8_t kCopyAsync = 1;
inline constexpr std::uint8_t kCopyBadTime = 2;

// Each returns the times' verdict where there is one; `name` receives CUPTI's pointer (may be
// null) where a record carries one, and name ids are left 0 for the caller.
TimestampState translate_kernel(const RawRecord& from, wire::KernelExec* to, const char** name);
TimestampState translate_memcpy(const RawRecord& from, wire::MemCopy* to);
TimestampState translate_memcpy_peer(const RawRecord& from, wire::MemCopy* to);
TimestampState translate_memset(const RawRecord& from, wire::MemSet* to);
TimestampState translate_graph(const RawRecord& from, wire::GraphExec* to);
void translate_api(const RawRecord& from, wire::ApiDomain domain, wire::ApiCall* to);
void translate_sync(const RawRecord& from, wire::Sync* to);
void translate_overhead(const RawRecord& from, wire::Overhead* to);
void translate_context(const RawRecord& from, wire::ContextInfo* to);
void translate_stream(const RawRecord& from, wire::StreamInfo* to);
void translate_device(const RawRecord& from, wire::DeviceInfo* to, const char** name);
void translate_jit(const RawRecord& from, wire::JitActivity* to);

}  // namespace gpuprof::cupti
