// SPDX-License-Identifier: Apache-2.0
//
// Operations of several ranks: each starts when its own rank is ready and ends when the last rank
// is, plus its duration.
//
// Context:  application threads (making), the pump (running)
// Owns:     nothing
// Promises: small payloads really travel and are reduced; of large ones only the own part is kept;
//           a rank that died, left or gave up never holds the others
// Not here: communicator handles and groups (nccl/), the shared file (rank_segment.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/collective/rank_segment.hpp"
#include "core/collective/reduction.hpp"
#include "core/work/stream_queue.hpp"

namespace gpusim {

enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter
};

/// One collective as a rank asks for it. `count` is of one rank's part, as in NCCL's calls.
struct Collective {
  CollectiveKind kind;
  const void* from;
  void* to;
  std::size_t count;
  Number number;
  Combine how;
  int root;
  bool scaled;              ///< each value is multiplied before it is combined
  unsigned char factor[8];  ///< with this element,
  const void* factor_at;    ///< or with the one in device memory
};

/// One message of a group of sends and receives.
struct Message {
  bool send;
  int peer;
  void* buffer;
  std::size_t bytes;
};

/// A rank of a communicator.
struct RankState {
  std::shared_ptr<RankSegment> segment;
  std::uint64_t rounds = 0;
  std::uint64_t sent[kMaxRanks] = {}, received[kMaxRanks] = {};
  std::shared_ptr<std::atomic<int>> pending = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<bool>> aborted = std::make_shared<std::atomic<bool>>(false);
};

/// The next collective of the rank, to be submitted with its kernel.
std::unique_ptr<Rendezvous> next_round(RankState& rank, const Collective& c);
/// The next group of messages of the rank.
std::unique_ptr<Rendezvous> next_messages(RankState& rank, const std::vector<Message>& messages);

/// How long they last once every rank is there, before the time scale.
std::uint64_t collective_ns(const Collective& c, int ranks);
std::uint64_t messages_ns(const std::vector<Message>& messages, int ranks);

/// Bytes that decide about time, kernel and channels: the largest buffer of the call.
std::size_t collective_bytes(const Collective& c, int ranks);

}  // namespace gpusim
