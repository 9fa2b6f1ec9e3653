// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of one communicator share: a small shared-memory file in which each says when it
// arrived, with the bytes of small payloads.
//
// Context:  application threads and the pump
// Owns:     one mapping and one file descriptor for each rank
// Promises: the file is gone from /dev/shm as soon as every rank has joined; a rank that died or
//           left is noticed, so nobody waits for it for ever
// Not here: what a collective does (collective.hpp)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gpusim {

constexpr int kMaxRanks = 64;
/// Bytes of one collective, all ranks together, that really travel.
constexpr std::size_t kRoundPayload = 65536;
/// Bytes of one message between two ranks that really travel.
constexpr std::size_t kPairPayload = 16384;

/// One side of a meeting. `posted` is the meeting's number, 1 for the first.
struct RankArrival {
  std::atomic<std::uint64_t> posted;
  std::uint64_t start_ns;
  std::uint64_t carried;  ///< bytes of its payload
  std::atomic<std::uint64_t> done;
};

/// Where ranks meet once: who they are, what they say and their payload.
struct RendezvousSlot {
  RankArrival* cells;
  int sides;
  int ranks[kMaxRanks];
  std::uint64_t number, depth;  ///< its cells were used by meeting `number - depth` before
  std::uint64_t payload;        ///< offset in the file
  std::size_t payload_bytes;
};

/// One rank's view of the shared file.
class RankSegment {
 public:
  /// Joins the file of `key` (file-name characters) as `rank` of `ranks`. Null if that fails.
  static std::shared_ptr<RankSegment> join(const std::string& key, int ranks, int rank);
  RankSegment(const RankSegment&) = delete;
  RankSegment& operator=(const RankSegment&) = delete;
  ~RankSegment();

  /// Waits until every rank has joined. False if one died meanwhile.
  bool wait_for_all();
  /// Whether this process holds another rank too.
  bool shares_process() const;
  /// Nobody has to wait for this rank any more.
  void leave();

  /// The meeting of all ranks with that number.
  RendezvousSlot round(std::uint64_t number) const;
  /// The message with that number from rank `from` to rank `to`: side 0 sends, side 1 receives.
  RendezvousSlot pair(int from, int to, std::uint64_t number) const;

  /// Says that `side` arrived. False if an earlier meeting still uses the cells: try again.
  bool post(const RendezvousSlot& m, int side, std::uint64_t start_ns, std::size_t offset,
            const void* data, std::size_t bytes);
  /// Whether all sides arrived, or can never arrive. `*latest_ns` is the last arrival.
  bool all_arrived(const RendezvousSlot& m, std::uint64_t* latest_ns);
  /// What a side wrote at `offset`, or null if it carried fewer than `bytes`.
  const unsigned char* carried(const RendezvousSlot& m, int side, std::size_t offset,
                               std::size_t bytes) const;
  /// `side` has read what it needs.
  static void finish(const RendezvousSlot& m, int side);

  /// Host-side exchange of two numbers, for splits; all ranks must call it. Gives the numbers of
  /// every rank (`ranks` entries each). False if a rank is gone.
  bool exchange(std::int64_t first, std::int64_t second, std::int64_t* firsts,
                std::int64_t* seconds);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const std::string& key() const { return key_; }

 private:
  struct Header;
  RankSegment() = default;
  bool has_died(int rank);
  bool all_joined() const;

  std::string key_;
  int fd_ = -1;
  int rank_ = 0, ranks_ = 0;
  std::size_t size_ = 0;
  Header* header_ = nullptr;
  std::uint64_t exchanges_ = 0;
  std::uint64_t last_check_ns_[kMaxRanks] = {};
  bool dead_[kMaxRanks] = {};
};

/// Removes files whose ranks all died before they had all met.
void sweep_segments();

}  // namespace gpusim
