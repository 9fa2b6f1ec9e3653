// SPDX-License-Identifier: Apache-2.0
//
// The one list of awkward behaviours the simulated GPU can be told to show, with their
// defaults.
//
// Context:  any
// Owns:     nothing
// Promises: every row has a name usable in GPUSIM_SCENARIO, a default argument and a sentence for
//           --help
// Not here: the behaviours themselves (cupti/scenario.cpp, cupti/delivery.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpusim {

/// One awkward behaviour. The value is the row in `kScenarios`.
enum class Scenario : std::uint8_t {
  kShuffled,
  kGpuBeforeApi,
  kApiLate,
  kGpuLate,
  kOrphanApi,
  kOrphanGpu,
  kDupCorrelation,
  kZeroTimes,
  kEndBeforeStart,
  kIncompleteOnForcedFlush,
  kEmptyBuffer,
  kCompleteOnNewThread,
  kCompleteOnAppThread,
  kCompleteTwoAtOnce,
  kCompleteAfterShutdown,
  kUnknownRecord,
  kNullBufferAbort,
  kFlushHangs,
  kForkFlushHangs,
  kNamesFreed,
  kTscClock,
  kRealtimeStep,
  kGraph2000,
  kPoolLimit,
  kDropped,
  kAbba,
  kDisableHangs,
  kNestedDriver,
  kRequestReentered,
  kRequestDuringExit,
  kCompleteAfterFork,
  kWrongSoname,
  kTwoCopies,
  kDeafFilters,
  kDeafWholeKinds,
  kDeafApi,
  kDeafKernels,
  kDeafCallbacks,
  kNoEnd,
  kGraphOnHost,
  kCount,
};

/// One row of the list.
struct ScenarioInfo {
  const char* name;
  std::int64_t default_argument;
  const char* help;
};

/// Rows in the order of `Scenario`.
inline constexpr ScenarioInfo kScenarios[] = {
    {"shuffled", 1,
     "records shuffled inside each buffer, and every fourth device record held back for a later "
     "one"},
    {"gpu-before-api", 50, "API records arrive ARG ms after the device records they caused"},
    {"api-late", 5000, "API records arrive ARG ms late, or at a forced flush"},
    {"gpu-late", 5000, "device records arrive ARG ms late, or at a forced flush"},
    {"orphan-api", 10, "every ARG-th device record is never delivered"},
    {"orphan-gpu", 10, "every ARG-th API record is never delivered"},
    {"dup-correlation", 10,
     "every ARG-th device record repeats the correlation id of the one before"},
    {"zero-times", 10, "every ARG-th device record has start = end = 0"},
    {"end-before-start", 10, "every ARG-th device record ends before it starts"},
    {"incomplete-on-forced-flush", 1,
     "a forced flush delivers running operations with end = 0, once"},
    {"empty-buffer", 1, "each delivery also completes a buffer with no bytes in it"},
    {"complete-on-new-thread", 1, "each completion comes on a thread never seen before"},
    {"complete-on-app-thread", 1,
     "a full buffer completes on the application thread that filled it"},
    {"complete-two-at-once", 1, "two buffers complete at the same time on two threads"},
    {"complete-after-shutdown", 200,
     "one buffer completes ARG ms after the last kind was disabled or the slot given back"},
    {"unknown-kind", 50,
     "after every ARG records one of a kind no client knows; iterators stop there with 21"},
    {"null-buffer-abort", 1,
     "a refused buffer aborts the process whatever the version (default only below API 27)"},
    {"flush-hangs", 1, "cuptiActivityFlushAll never returns from its ARG-th call on"},
    {"fork-flush-hangs", 1, "cuptiActivityFlushAll never returns in a forked child"},
    {"names-freed", 1,
     "kernel names are overwritten and freed as soon as the completion callback returned"},
    {"tsc-clock", 500, "ARG ms after the first record all times are raw time-stamp-counter ticks"},
    {"realtime-step", 500,
     "ARG ms after the first record the CUPTI clock steps back by one second"},
    {"graph-2000", 2000, "every instantiated graph is repeated until it has at least ARG nodes"},
    {"pool-limit", 1000, "after ARG device records all device times are 0"},
    {"dropped", 100, "the first ARG device records are lost and counted as dropped"},
    {"abba", 1,
     "one internal lock is held in buffer callbacks and taken by "
     "cuptiActivityGetNumDroppedRecords"},
    {"disable-hangs", 1, "cuptiActivityDisable of the kernel kind never returns"},
    {"nested-driver", 1,
     "every kernel launch of the runtime shows the driver's launch inside it, with the same "
     "correlation id"},
    {"request-reentered", 1,
     "while a buffer is asked for, another thread asks for one too; both are used"},
    {"request-during-exit", 1,
     "a thread asks for a buffer and completes it empty every ARG ms until the process is gone"},
    {"complete-after-fork", 1, "a buffer of the parent completes again in every forked child"},
    {"wrong-soname", 1,
     "gpusim-run puts a CUPTI under the expected name that calls itself by another SONAME"},
    {"two-copies", 1,
     "gpusim-run preloads a second copy of CUPTI, which hears nothing of the driver (with "
     "--preload or for PyTorch)"},
    {"deaf-filters", 1,
     "per-call filters of API records succeed and deliver nothing once cuInit has returned "
     "(default for 13.0)"},
    {"deaf-whole-kinds", 1,
     "the whole kinds RUNTIME and DRIVER succeed and deliver nothing once cuInit has returned"},
    {"deaf-api", 0, "after ARG API records and callbacks at exits none of either comes"},
    {"deaf-kernels", 0, "after ARG kernel records none is delivered"},
    {"deaf-callbacks", 0, "after ARG API callbacks none is made"},
    {"no-end", 1, "every ARG-th device record has end = 0"},
    {"graph-on-host", 1,
     "records of whole graphs name no device, as of graphs that begin on the host, but as their "
     "end"},
};
static_assert(sizeof(kScenarios) / sizeof(kScenarios[0]) ==
              static_cast<std::size_t>(Scenario::kCount));

}  // namespace gpusim
