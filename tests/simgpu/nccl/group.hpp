// SPDX-License-Identifier: Apache-2.0
//
// Groups: calls between ncclGroupStart and ncclGroupEnd run at the outermost end.
//
// Context:  application threads
// Owns:     the calls that a thread has queued
// Promises: a call outside of a group is a group of its own; messages of one group, communicator
//           and stream become one kernel
// Not here: what the calls do (core/collective/collective.hpp)
#pragma once

#include "nccl/communicator.hpp"

namespace gpusim {

/// Runs or queues a collective.
ncclResult_t run_in_group(ncclComm* comm, cudaStream_t stream, const Collective& collective);
/// Runs or queues a message.
ncclResult_t run_in_group(ncclComm* comm, cudaStream_t stream, const Message& message);
/// Waits until every rank of a new communicator is there, at the end of the group.
ncclResult_t wait_in_group(ncclComm* comm);

/// Whether the calling thread is inside a group.
bool in_group();

/// Forgets what the calling thread has queued and leaves all groups. Gives the time that the
/// queued calls would have taken, in microseconds.
float drop_group();

}  // namespace gpusim
