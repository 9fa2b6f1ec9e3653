// SPDX-License-Identifier: Apache-2.0
//
// NCCL API: communicators.
//
// Context:  application threads
// Owns:     nothing
// Promises: making a communicator waits for all its ranks; ending one waits for its work
// Not here: shrinking and growing, windows: refused by name
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "core/driver.hpp"
#include "core/handles.hpp"
#include "nccl/communicator.hpp"
#include "nccl/group.hpp"

using namespace gpusim;

namespace {

/// The ranks of one colour in their new order.
struct Party {
  std::vector<int> ranks;
  int mine = -1;
};

Party party_of(const std::vector<std::int64_t>& colours, const std::vector<std::int64_t>& keys,
               int me) {
  Party p;
  const auto rank = [&](int r) { return static_cast<std::size_t>(r); };
  for (int r = 0; r < static_cast<int>(colours.size()); ++r)
    if (colours[rank(r)] == colours[rank(me)]) p.ranks.push_back(r);
  std::stable_sort(p.ranks.begin(), p.ranks.end(),
                   [&](int a, int b) { return keys[rank(a)] < keys[rank(b)]; });
  p.mine = static_cast<int>(std::find(p.ranks.begin(), p.ranks.end(), me) - p.ranks.begin());
  return p;
}

ncclResult_t split(ncclComm* parent, int color, int key, ncclComm_t* out) {
  RankSegment& segment = *parent->rank.segment;
  const auto ranks = static_cast<std::size_t>(segment.ranks());
  std::vector<std::int64_t> colours(ranks), keys(ranks);
  *out = nullptr;
  if (!segment.exchange(color, key, colours.data(), keys.data()))
    return fail(parent, ncclRemoteError, "a rank ended before all had joined the split");
  const std::int64_t number = ++parent->splits;
  if (color == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
  const Party party = party_of(colours, keys, segment.rank());
  const std::string name =
      segment.key() + "/" + std::to_string(number) + "/" + std::to_string(color);
  push_context(parent->context);
  const ncclResult_t result = join_communicator(out, key_of(name.data(), name.size()),
                                                static_cast<int>(party.ranks.size()), party.mine);
  pop_context();
  return result;
}

ncclResult_t join_id(ncclComm_t* out, int ranks, const ncclUniqueId& id, int rank) {
  if (const ncclResult_t r = check_driver(); r != ncclSuccess) return r;
  return join_communicator(out, key_of(id.internal, sizeof id.internal), ranks, rank);
}

}  // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  if (uniqueId == nullptr) return fail(nullptr, ncclInvalidArgument, "no place for the id");
  sweep_segments();
  std::memset(uniqueId, 0, sizeof *uniqueId);
  std::memcpy(uniqueId->internal, "gpusim", 6);
  if (getrandom(uniqueId->internal + 8, 24, 0) != 24)
    return fail(nullptr, ncclSystemError, "the kernel gave no random bytes");
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return join_id(comm, nranks, commId, rank);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  static_cast<void>(config);  // what it tunes has no counterpart here
  return join_id(comm, nranks, commId, rank);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config) {
  static_cast<void>(config);
  if (nId < 1 || commIds == nullptr) return fail(nullptr, ncclInvalidArgument, "no id was given");
  return join_id(newcomm, nranks, commIds[0], myrank);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  if (const ncclResult_t r = check_driver(); r != ncclSuccess) return r;
  ncclUniqueId id;
  if (const ncclResult_t r = ncclGetUniqueId(&id); r != ncclSuccess) return r;
  const int before = runtime_device();
  ncclResult_t result = ncclSuccess;
  ncclGroupStart();
  for (int i = 0; i < ndev && result == ncclSuccess; ++i) {
    const int device = devlist != nullptr ? devlist[i] : i;
    result = set_runtime_device(device) == 0
                 ? join_id(&comm[i], ndev, id, i)
                 : fail(nullptr, ncclInvalidArgument, "there is no such device");
  }
  if (result != ncclSuccess) drop_group();
  const ncclResult_t end = result == ncclSuccess ? ncclGroupEnd() : result;
  set_runtime_device(before);
  return end;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                           ncclConfig_t* config) {
  static_cast<void>(config);
  if (const ncclResult_t r = check(comm); r != ncclSuccess) return r;
  if (newcomm == nullptr) return fail(comm, ncclInvalidArgument, "no place for the communicator");
  // Ranks tell each other their colours at the call, so one thread would wait for itself.
  if (in_group() && comm->rank.segment->shares_process())
    return fail(comm, ncclInvalidUsage, "several ranks of one process cannot split in a group");
  return split(comm, color, key, newcomm);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (const ncclResult_t r = check(comm); r != ncclSuccess) return r;
  drain(*comm);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  if (!live(comm)) return fail(nullptr, ncclInvalidArgument, "not a communicator");
  if (driver_status() == 0) drain(*comm);
  close_communicator(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  if (!live(comm)) return fail(nullptr, ncclInvalidArgument, "not a communicator");
  comm->rank.aborted->store(true);
  if (driver_status() == 0) pump();
  close_communicator(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags) {
  static_cast<void>(revokeFlags);
  if (const ncclResult_t r = check(comm); r != ncclSuccess) return r;
  comm->rank.aborted->store(true);
  pump();
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  if (!live(comm) || asyncError == nullptr)
    return fail(nullptr, ncclInvalidArgument, "not a communicator");
  *asyncError = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  if (!live(comm) || count == nullptr)
    return fail(nullptr, ncclInvalidArgument, "not a communicator");
  *count = comm->rank.segment->ranks();
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  if (!live(comm) || device == nullptr)
    return fail(nullptr, ncclInvalidArgument, "not a communicator");
  *device = comm->context->device->ordinal;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  if (!live(comm) || rank == nullptr)
    return fail(nullptr, ncclInvalidArgument, "not a communicator");
  *rank = comm->rank.segment->rank();
  return ncclSuccess;
}

}  // extern "C"
