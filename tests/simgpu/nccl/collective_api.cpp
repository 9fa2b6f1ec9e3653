// SPDX-License-Identifier: Apache-2.0
//
// NCCL API: collectives and messages.
//
// Context:  application threads
// Owns:     nothing
// Promises: arguments are checked at the call, also inside a group
// Not here: groups (group.cpp), reductions of one's own (misc_api.cpp)
#include <cstring>

#include "nccl/group.hpp"

using namespace gpusim;

namespace {

/// A collective before its arguments were checked.
struct Call {
  CollectiveKind kind;
  const void* from;
  void* to;
  std::size_t count;
  ncclDataType_t type;
  int op = ncclSum;
  int root = 0;
};

/// Fills in a reduction made by the program.
bool use_own_reduction(const ncclComm& comm, int op, Collective& c) {
  const auto index = static_cast<std::size_t>(op - ncclNumOps);
  if (index >= comm.reductions.size() || !comm.reductions[index].live) return false;
  const UserReduction& own = comm.reductions[index];
  c.how = Combine::kSum;
  c.scaled = true;
  c.factor_at = own.factor_at;
  std::memcpy(c.factor, own.factor, sizeof c.factor);
  return true;
}

ncclResult_t run(ncclComm* comm, cudaStream_t stream, const Call& call) {
  if (const ncclResult_t r = check(comm); r != ncclSuccess) return r;
  if (*comm->rank.aborted) return fail(comm, ncclInvalidUsage, "the communicator was given up");
  if (call.type < 0 || call.type >= ncclNumTypes)
    return fail(comm, ncclInvalidArgument, "no such data type");
  if (call.root < 0 || call.root >= comm->rank.segment->ranks())
    return fail(comm, ncclInvalidArgument, "the root is no rank of the communicator");
  Collective c{};
  c.kind = call.kind;
  c.from = call.from;
  c.to = call.to;
  c.count = call.count;
  c.number = static_cast<Number>(call.type);
  c.root = call.root;
  if (call.op >= 0 && call.op < ncclNumOps)
    c.how = static_cast<Combine>(call.op);
  else if (!use_own_reduction(*comm, call.op, c))
    return fail(comm, ncclInvalidArgument, "no such reduction");
  return run_in_group(comm, stream, c);
}

ncclResult_t run_message(ncclComm* comm, cudaStream_t stream, bool send, void* buffer,
                         std::size_t count, ncclDataType_t type, int peer) {
  if (const ncclResult_t r = check(comm); r != ncclSuccess) return r;
  if (*comm->rank.aborted) return fail(comm, ncclInvalidUsage, "the communicator was given up");
  if (type < 0 || type >= ncclNumTypes) return fail(comm, ncclInvalidArgument, "no such data type");
  if (peer < 0 || peer >= comm->rank.segment->ranks())
    return fail(comm, ncclInvalidArgument, "the peer is no rank of the communicator");
  return run_in_group(comm, stream,
                      Message{send, peer, buffer, count * size_of(static_cast<Number>(type))});
}

}  // namespace

extern "C" {

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return run(comm, stream, {CollectiveKind::kAllReduce, sendbuff, recvbuff, count, datatype, op});
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return run(comm, stream,
             {CollectiveKind::kBroadcast, sendbuff, recvbuff, count, datatype, ncclSum, root});
}

ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return run(comm, stream,
             {CollectiveKind::kReduce, sendbuff, recvbuff, count, datatype, op, root});
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return run(comm, stream, {CollectiveKind::kAllGather, sendbuff, recvbuff, sendcount, datatype});
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return run(comm, stream,
             {CollectiveKind::kReduceScatter, sendbuff, recvbuff, recvcount, datatype, op});
}

ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return run(comm, stream, {CollectiveKind::kAllToAll, sendbuff, recvbuff, count, datatype});
}

ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return run(comm, stream,
             {CollectiveKind::kGather, sendbuff, recvbuff, count, datatype, ncclSum, root});
}

ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  return run(comm, stream,
             {CollectiveKind::kScatter, sendbuff, recvbuff, count, datatype, ncclSum, root});
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return run_message(comm, stream, true, const_cast<void*>(sendbuff), count, datatype, peer);
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return run_message(comm, stream, false, recvbuff, count, datatype, peer);
}

}  // extern "C"
