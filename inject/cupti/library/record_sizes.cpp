// SPDX-License-Identifier: Apache-2.0
//
// The probe: one record of the kind in question, then known ones at every later place.
//
// Context:  worker | boundary
// Owns:     nothing
#include "inject/cupti/library/record_sizes.hpp"

#include <cstring>

#include "gpuprof/base/bytes.hpp"

namespace gpuprof::cupti {

namespace {

constexpr std::size_t kProbeBytes = 2048;

// The distance between the first and the second record the iterator returns.
std::uint16_t record_bytes(const Api& api, std::uint32_t kind, std::uint8_t* buffer) {
  std::memset(buffer, 0, kProbeBytes);
  for (std::size_t at = 8; at + 4 <= kProbeBytes; at += 8)
    base::store(buffer + at, static_cast<std::uint32_t>(CUPTI_ACTIVITY_KIND_RUNTIME));
  base::store(buffer, kind);
  CUpti_Activity* record = nullptr;
  if (api.cuptiActivityGetNextRecord(buffer, kProbeBytes, &record) != CUPTI_SUCCESS) return 0;
  if (reinterpret_cast<std::uint8_t*>(record) != buffer) return 0;
  if (api.cuptiActivityGetNextRecord(buffer, kProbeBytes, &record) != CUPTI_SUCCESS) return 0;
  const auto distance = reinterpret_cast<std::uint8_t*>(record) - buffer;
  return distance > 0 && distance < static_cast<std::ptrdiff_t>(kProbeBytes)
             ? static_cast<std::uint16_t>(distance)
             : std::uint16_t{0};
}

}  // namespace

void probe_record_sizes(const Api& api, RecordSizes* layout) {
  alignas(8) std::uint8_t buffer[kProbeBytes];
  layout->version = api.version;
  for (std::uint32_t kind = 1; kind < kProbedKinds; ++kind) {
    const std::uint16_t bytes = record_bytes(api, kind, buffer);
    layout->bytes[kind] = bytes >= needed_bytes(kind) ? bytes : std::uint16_t{0};
  }
}

}  // namespace gpuprof::cupti
