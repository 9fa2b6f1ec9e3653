// SPDX-License-Identifier: Apache-2.0
//
// Lines for records.
//
// Context:  test programs
// Owns:     nothing
// Promises: see print_record.hpp
// Not here: reading buffers (sim_client.cpp, second_client.cpp)
#include "client/print_record.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace client {
namespace {

unsigned long long ull(std::uint64_t v) { return v; }

/// Copies the part of a record that all layouts share.
template <typename T>
T prefix_of(const void* record, std::size_t bytes) {
  T t{};
  std::memcpy(&t, record, bytes);
  return t;
}

void print_kernel(const void* record, const char* prefix) {
  const auto k = prefix_of<CUpti_ActivityKernel10>(record, 160);
  std::printf(
      "%skernel corr %u start %llu end %llu device %u context %u stream %u grid %d,%d,%d block "
      "%d,%d,%d graph %u node %llu name %s\n",
      prefix, k.correlationId, ull(k.start), ull(k.end), k.deviceId, k.contextId, k.streamId,
      k.gridX, k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ, k.graphId, ull(k.graphNodeId),
      k.name != nullptr ? k.name : "(null)");
}

void print_copy(const void* record, const char* prefix) {
  const auto m = prefix_of<CUpti_ActivityMemcpy6>(record, 48);
  std::printf("%smemcpy corr %u start %llu end %llu kind %u src %u dst %u bytes %llu\n", prefix,
              m.correlationId, ull(m.start), ull(m.end), m.copyKind, m.srcKind, m.dstKind,
              ull(m.bytes));
}

void print_peer_copy(const void* record, const char* prefix) {
  const auto m = prefix_of<CUpti_ActivityMemcpyPtoP4>(record, 64);
  std::printf("%smemcpy2 corr %u start %llu end %llu from %u to %u bytes %llu\n", prefix,
              m.correlationId, ull(m.start), ull(m.end), m.srcDeviceId, m.dstDeviceId,
              ull(m.bytes));
}

void print_fill(const void* record, const char* prefix) {
  const auto m = prefix_of<CUpti_ActivityMemset4>(record, 48);
  std::printf("%smemset corr %u start %llu end %llu value %u bytes %llu\n", prefix, m.correlationId,
              ull(m.start), ull(m.end), m.value, ull(m.bytes));
}

void print_api(const CuptiTable& cupti, const void* record, const char* prefix) {
  const auto a = prefix_of<CUpti_ActivityAPI>(record, 40);
  const bool driver = a.kind == CUPTI_ACTIVITY_KIND_DRIVER;
  const char* name = "?";
  cupti.cuptiGetCallbackName(driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API,
                             a.cbid, &name);
  std::printf("%sapi corr %u start %llu end %llu cbid %u tid %u result %u domain %s name %s\n",
              prefix, a.correlationId, ull(a.start), ull(a.end), a.cbid, a.threadId, a.returnValue,
              driver ? "driver" : "runtime", name);
}

void print_external(const void* record, const char* prefix) {
  const auto e = prefix_of<CUpti_ActivityExternalCorrelation>(record, 24);
  std::printf("%sexternal corr %u kind %d id %llu\n", prefix, e.correlationId, e.externalKind,
              ull(e.externalId));
}

void print_sync(const void* record, const char* prefix) {
  const auto s = prefix_of<CUpti_ActivitySynchronization2>(record, 40);
  std::printf("%ssync corr %u start %llu end %llu type %d stream %u\n", prefix, s.correlationId,
              ull(s.start), ull(s.end), s.type, s.streamId);
}

void print_graph(const void* record, const char* prefix) {
  const auto g = prefix_of<CUpti_ActivityGraphTrace2>(record, 40);
  std::printf("%sgraph corr %u start %llu end %llu id %u\n", prefix, g.correlationId, ull(g.start),
              ull(g.end), g.graphId);
}

}  // namespace

void print_record(const CuptiTable& cupti, const CUpti_Activity* record, const char* prefix) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return print_kernel(record, prefix);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return print_copy(record, prefix);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return print_peer_copy(record, prefix);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return print_fill(record, prefix);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return print_api(cupti, record, prefix);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return print_external(record, prefix);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return print_sync(record, prefix);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return print_graph(record, prefix);
    default:
      std::printf("%sother kind %d\n", prefix, record->kind);
  }
}

}  // namespace client
