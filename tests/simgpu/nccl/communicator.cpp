// SPDX-License-Identifier: Apache-2.0
//
// Life of a communicator.
//
// Context:  application threads
// Owns:     nothing
// Promises: see communicator.hpp
// Not here: entry points (communicator_api.cpp)
#include "nccl/communicator.hpp"

#include <cstdio>

#include "core/driver.hpp"
#include "core/handles.hpp"
#include "nccl/group.hpp"

namespace gpusim {
namespace {

thread_local char t_last_error[256];

/// FNV-1a over 64 bits from a start of one's own.
std::uint64_t hash(const void* bytes, std::size_t count, std::uint64_t value) {
  const auto* p = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < count; ++i) value = (value ^ p[i]) * 1099511628211u;
  return value;
}

}  // namespace

std::string key_of(const void* bytes, std::size_t count) {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx",
                static_cast<unsigned long long>(hash(bytes, count, 14695981039346656037u)),
                static_cast<unsigned long long>(hash(bytes, count, 88172645463325252u)));
  return text;
}

ncclResult_t fail(ncclComm* comm, ncclResult_t result, const char* sentence) {
  char* text = comm != nullptr ? comm->last_error : t_last_error;
  std::snprintf(text, sizeof t_last_error, "simulated GPU (gpuprof): %s", sentence);
  return result;
}

const char* last_error(const ncclComm* comm) {
  return comm != nullptr ? comm->last_error : t_last_error;
}

ncclResult_t check_driver() {
  if (forked_child()) return fail(nullptr, ncclUnhandledCudaError, "the device is lost after fork");
  return start_runtime() == 0 ? ncclSuccess
                              : fail(nullptr, ncclUnhandledCudaError, "no usable driver");
}

ncclResult_t check(ncclComm* comm) {
  if (!live(comm)) return fail(nullptr, ncclInvalidArgument, "not a communicator");
  return check_driver();
}

ncclResult_t join_communicator(ncclComm_t* out, const std::string& key, int ranks, int rank) {
  Context* context = runtime_context();
  if (out == nullptr) return fail(nullptr, ncclInvalidArgument, "no place for the communicator");
  if (context == nullptr) return fail(nullptr, ncclUnhandledCudaError, "no usable device");
  if (ranks < 1 || ranks > kMaxRanks || rank < 0 || rank >= ranks)
    return fail(nullptr, ncclInvalidArgument, "a communicator has 1 to 64 ranks, numbered from 0");
  auto segment = RankSegment::join(key, ranks, rank);
  if (segment == nullptr)
    return fail(nullptr, ncclSystemError, "the ranks' shared file in /dev/shm cannot be used");
  auto* comm = new ncclComm;
  comm->rank.segment = std::move(segment);
  comm->context = context;
  const ncclResult_t result = wait_in_group(comm);
  *out = result == ncclSuccess ? comm : nullptr;
  return result;
}

void drain(ncclComm& comm) {
  for (Backoff patience; *comm.rank.pending > 0 && driver_status() == 0; patience.wait()) pump();
}

void close_communicator(ncclComm* comm) {
  comm->magic = kDead;
  comm->rank.segment->leave();
  // Work that was given up may still stand in a queue and keeps the segment by itself.
  comm->rank.segment.reset();
}

}  // namespace gpusim
