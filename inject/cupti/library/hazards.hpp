// SPDX-License-Identifier: Apache-2.0
//
// What is known to go wrong with which CUPTI release, and what we do about it: one table.
//
// Context:  any (pure)
// Promises: every version-dependent decision of this component uses this table
// Not here: features that a missing symbol or a record size reveals (api.hpp, record_sizes.hpp)
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::cupti {

/// A known fault that is worked around.
enum class Hazard : std::uint8_t {
  kAttachInstruments,  // enabling kernel records late instruments whole modules: stalls
  kFinalizeCrashes,    // cuptiFinalize with graphs
  kDomainSwitchLeaks,  // cuptiEnableDomain(0, …) switches other things off
  kPerThreadUnsafe,    // per-thread buffers are not safe to flush
  kNullBufferCrashes,  // a refused buffer crashes
  kKernelKindStays,    // disabling kernel records can deadlock the program
  kStopsAt2GiB,        // records stop at 2 GB; later sessions carry wrong graph ids
  kFlushOftenSlows,    // repeated calls slow the process down
  kCpuGrows,           // CPU use of long traces grows
};

/// One row: `from` <= version < `until` (numbers of cuptiGetVersion).
struct HazardRow {
  Hazard hazard;
  std::uint32_t from, until;
  const char* fact;  // what is in the trace's metadata when the row applies
};

// Boundaries given as CUDA updates that share one API number take the next number, so that a
// release is treated as faulty rather than trusted by mistake (12.6 … 12.6 U2 are all 24).
inline constexpr HazardRow kHazards[] = {
    {Hazard::kAttachInstruments, 0, 15, "kernel records are enabled at cuInit or not at all"},
    {Hazard::kFinalizeCrashes, 0, 22, "cuptiFinalize is never called"},
    {Hazard::kDomainSwitchLeaks, 0, 26, "callbacks are enabled one by one"},
    {Hazard::kPerThreadUnsafe, 0, 26, "per-thread buffers are off"},
    {Hazard::kNullBufferCrashes, 0, 27, "buffers are never refused"},
    {Hazard::kKernelKindStays, 0, 130001, "kernel records stay on once they are enabled"},
    {Hazard::kStopsAt2GiB, 0, 130101, "records may stop at 2 GB"},
    {Hazard::kFlushOftenSlows, 130200, 130300, "flushes are at least one second apart"},
    {Hazard::kCpuGrows, 0, 130401, "CPU use of long traces may grow"},
};

/// Whether the row of `hazard` covers this version.
constexpr bool has_hazard(std::uint32_t version, Hazard hazard) {
  for (const HazardRow& row : kHazards)
    if (row.hazard == hazard && version >= row.from && version < row.until) return true;
  return false;
}

/// Shortest time between two flushes of ours, given the requested period.
constexpr std::uint32_t flush_period_ms(std::uint32_t version, std::uint32_t asked_ms) {
  const std::uint32_t floor_ms = has_hazard(version, Hazard::kFlushOftenSlows) ? 1000 : 1;
  return asked_ms < floor_ms ? floor_ms : asked_ms;
}

/// Attribute 9 (per-thread buffers) exists from CUDA 12.3.
constexpr bool knows_per_thread_buffers(std::uint32_t version) { return version >= 21; }

/// Until CUDA 11.1, Kernel5 had padding where graphId is now; the record's size is the same.
constexpr bool kernel_graph_id_valid(std::uint32_t version) { return version >= 14; }

}  // namespace gpuprof::cupti
