// SPDX-License-Identifier: Apache-2.0
//
// Columns and indexes.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/tables/sqlite_tables.hpp"

namespace gpuprof::exporter {
namespace {

/// Of everything that ran on a device.
const std::string kGpuColumns =
    "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
    "correlationId INTEGER, globalPid INTEGER, ";
/// Of what came after it in every such table: ours.
const std::string kOwner = ", operatorId INTEGER, step INTEGER";

}  // namespace

SqliteTableIds::SqliteTableIds(SqliteFile& f)
    : strings(f.table("StringIds", "id INTEGER PRIMARY KEY, value TEXT")),
      start_time(
          f.table("TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER, durationNs INTEGER")),
      gpus(f.table("TARGET_INFO_GPU",
                   "id INTEGER PRIMARY KEY, name TEXT, totalMemory INTEGER, smCount INTEGER, "
                   "computeMajor INTEGER, computeMinor INTEGER, warpSize INTEGER, "
                   "maxThreadsPerBlock INTEGER, maxThreadsPerSm INTEGER, clockRate INTEGER, "
                   "l2CacheSize INTEGER, simulated INTEGER")),
      processes(f.table("PROCESSES",
                        "globalPid INTEGER PRIMARY KEY, pid INTEGER, name TEXT, "
                        "commandLine TEXT, host TEXT, worker TEXT")),
      threads(f.table("ThreadNames", "nameId INTEGER, priority INTEGER, globalTid INTEGER")),
      facts(f.table("META_DATA_CAPTURE", "name TEXT, value TEXT")),
      missing(f.table("MISSING", "sentence TEXT")),
      drops(f.table("DROPS", "reason TEXT, inWindow INTEGER, sinceStart INTEGER")),
      kernels(f.table("CUPTI_ACTIVITY_KIND_KERNEL",
                      kGpuColumns +
                          "demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, "
                          "gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, "
                          "blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, "
                          "dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, "
                          "sharedMemoryExecuted INTEGER, graphId INTEGER, graphNodeId INTEGER" +
                          kOwner)),
      copies(f.table("CUPTI_ACTIVITY_KIND_MEMCPY",
                     kGpuColumns +
                         "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, "
                         "dstDeviceId INTEGER, graphId INTEGER, graphNodeId INTEGER, "
                         "nameId INTEGER" +
                         kOwner)),
      sets(f.table("CUPTI_ACTIVITY_KIND_MEMSET",
                   kGpuColumns +
                       "value INTEGER, bytes INTEGER, memKind INTEGER, graphId INTEGER, "
                       "graphNodeId INTEGER, nameId INTEGER" +
                       kOwner)),
      graphs(f.table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kGpuColumns + "graphId INTEGER" + kOwner)),
      syncs(f.table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                    kGpuColumns + "syncType INTEGER, eventId INTEGER, nameId INTEGER" + kOwner)),
      calls(f.table("CUPTI_ACTIVITY_KIND_RUNTIME",
                    "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, "
                    "correlationId INTEGER, nameId INTEGER, returnValue INTEGER, "
                    "callchainId INTEGER, isInner INTEGER" +
                        kOwner)),
      overheads(f.table("PROFILER_OVERHEAD",
                        "start INTEGER, end INTEGER, globalTid INTEGER, "
                        "nameId INTEGER")),
      ranges(f.table("NVTX_EVENTS",
                     "start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, "
                     "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, "
                     "endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, domain TEXT, "
                     "payloadType INTEGER, payload INTEGER, parentId INTEGER, nests INTEGER, "
                     "step INTEGER")),
      operators(f.table("OPERATORS",
                        "id INTEGER, start INTEGER, end INTEGER, globalTid INTEGER, "
                        "nameId INTEGER, parentId INTEGER, sequence INTEGER, forwardTid INTEGER, "
                        "forwardId INTEGER, scope INTEGER, module TEXT, stackId INTEGER, "
                        "inputs TEXT, nests INTEGER, step INTEGER")),
      modules(f.table("MODULES",
                      "start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, "
                      "pathId INTEGER, parentPathId INTEGER, step INTEGER")),
      steps(f.table("STEPS",
                    "step INTEGER, start INTEGER, end INTEGER, globalTid INTEGER, "
                    "source TEXT, confidence INTEGER, location TEXT")),
      samples(f.table("SAMPLES",
                      "start INTEGER, globalTid INTEGER, weight INTEGER, "
                      "blocked INTEGER, stackId INTEGER, step INTEGER")),
      stacks(f.table("STACKS", "id INTEGER PRIMARY KEY, parentId INTEGER, frameId INTEGER")),
      frames(f.table("FRAMES", "id INTEGER PRIMARY KEY, name TEXT, file TEXT, line INTEGER")),
      allocations(f.table("ALLOCATIONS",
                          "start INTEGER, globalTid INTEGER, deviceType INTEGER, deviceId INTEGER, "
                          "address INTEGER, bytes INTEGER, allocated INTEGER, reserved INTEGER, "
                          "step INTEGER")) {}

void create_indexes(SqliteFile& file) {
  for (const char* const on :
       {"CUPTI_ACTIVITY_KIND_KERNEL(start)", "CUPTI_ACTIVITY_KIND_KERNEL(correlationId)",
        "CUPTI_ACTIVITY_KIND_KERNEL(shortName)", "CUPTI_ACTIVITY_KIND_MEMCPY(start)",
        "CUPTI_ACTIVITY_KIND_RUNTIME(start)", "CUPTI_ACTIVITY_KIND_RUNTIME(correlationId)",
        "NVTX_EVENTS(start)", "OPERATORS(start)", "OPERATORS(id)", "OPERATORS(nameId)",
        "OPERATORS(parentId)", "SAMPLES(stackId)"}) {
    std::string name = on;
    for (char& c : name)
      if (c == '(' || c == ')') c = '_';
    file.exec("CREATE INDEX by_" + name + " ON " + on);
  }
}

}  // namespace gpuprof::exporter
