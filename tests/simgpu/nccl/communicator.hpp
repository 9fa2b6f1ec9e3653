// SPDX-License-Identifier: Apache-2.0
//
// One rank's communicator.
//
// Context:  application threads
// Owns:     the rank's share of the meeting place, until it is destroyed
// Promises: a destroyed communicator only changes its magic
// Not here: what collectives do (core/collective/collective.hpp)
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "core/collective/collective.hpp"
#include "core/objects.hpp"

namespace gpusim {

/// A reduction made by ncclRedOpCreatePreMulSum.
struct UserReduction {
  bool live;
  unsigned char factor[8];
  const void* factor_at;  ///< in device memory, or null
};

}  // namespace gpusim

/// What ncclComm_t points to.
struct ncclComm {
  std::uint32_t magic = gpusim::kLive;
  gpusim::RankState rank;
  gpusim::Context* context = nullptr;
  std::int64_t splits = 0;
  std::vector<gpusim::UserReduction> reductions;
  char last_error[256] = "";
};

namespace gpusim {

/// Joins the communicator named `key`. Waits for the other ranks now, or at the end of the group.
ncclResult_t join_communicator(ncclComm_t* out, const std::string& key, int ranks, int rank);
/// Waits until what is under way has ended.
void drain(ncclComm& comm);
/// Takes the rank out of its communicator. The handle is dead afterwards.
void close_communicator(ncclComm* comm);

/// A name for the meeting place that follows from the bytes alone.
std::string key_of(const void* bytes, std::size_t count);

/// Keeps a sentence for ncclGetLastError and returns `result`.
ncclResult_t fail(ncclComm* comm, ncclResult_t result, const char* sentence);
const char* last_error(const ncclComm* comm);

/// ncclSuccess where the driver can be used and `comm` (if asked for) is a communicator.
ncclResult_t check_driver();
ncclResult_t check(ncclComm* comm);

}  // namespace gpusim
