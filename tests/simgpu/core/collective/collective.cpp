// SPDX-License-Identifier: Apache-2.0
//
// Collectives and messages between ranks.
//
// Context:  application threads (making), the pump (running)
// Owns:     staged payloads until they are posted
// Promises: see collective.hpp
// Not here: where payloads lie (rank_segment.cpp), arithmetic (reduction.cpp)
#include "core/collective/collective.hpp"

#include <algorithm>
#include <cstring>

#include "core/clock.hpp"
#include "core/config.hpp"
#include "core/memory/memory.hpp"
#include "core/work/timeline.hpp"

namespace gpusim {
namespace {

// Invented figures of the links between simulated devices.
constexpr double kLinkBytesPerNs = 200;
constexpr double kBaseNs = 6000;
constexpr double kNsPerRank = 1500;

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// Memory that the program freed while the operation waited is left alone.
bool readable(const void* p) { return p != nullptr && memory_kind(address(p)) != kPageable; }

std::uint64_t lasting(double bytes, int ranks) {
  if (config().kernel_ns != 0) return config().kernel_ns;
  return static_cast<std::uint64_t>(kBaseNs + kNsPerRank * ranks + bytes / kLinkBytesPerNs);
}

/// What operations of several ranks share: the length and giving up.
class Joint : public Rendezvous {
 public:
  Joint(RankState& rank, std::uint64_t length_ns)
      : segment_(rank.segment),
        length_ns_(length_ns),
        pending_(rank.pending),
        aborted_(rank.aborted) {
    pending_->fetch_add(1);
  }
  ~Joint() override { pending_->fetch_sub(1); }

  bool arrive(std::uint64_t start_ns) final { return *aborted_ || post_all(start_ns); }

  bool resolved(std::uint64_t* end_ns) final {
    std::uint64_t latest = 0;
    if (!*aborted_ && !met_all(&latest)) return false;
    *end_ns = (*aborted_ ? now_ns() : latest) + length_ns_;
    return true;
  }

  void complete() final {
    if (!*aborted_) take_all();
  }

 protected:
  virtual bool post_all(std::uint64_t start_ns) = 0;
  virtual bool met_all(std::uint64_t* latest_ns) = 0;
  virtual void take_all() = 0;

  std::shared_ptr<RankSegment> segment_;

 private:
  std::uint64_t length_ns_;
  std::shared_ptr<std::atomic<int>> pending_;
  std::shared_ptr<std::atomic<bool>> aborted_;
};

/// Who contributes how much to a collective, and where it lies in the payload.
struct Shares {
  Shares(const Collective& c, int all) : ranks(all), root(c.root) {
    const auto n = static_cast<std::size_t>(all);
    part = c.count * size_of(c.number);
    const bool many = c.kind == CollectiveKind::kReduceScatter ||
                      c.kind == CollectiveKind::kAllToAll || c.kind == CollectiveKind::kScatter;
    contribution = many ? part * n : part;
    from_root = c.kind == CollectiveKind::kBroadcast || c.kind == CollectiveKind::kScatter;
    total = from_root ? contribution : contribution * n;
  }
  bool travels() const { return total > 0 && total <= kRoundPayload; }
  bool contributes(int rank) const { return !from_root || rank == root; }
  std::size_t offset(int rank) const {
    return from_root ? 0 : static_cast<std::size_t>(rank) * contribution;
  }
  int ranks, root;
  std::size_t part, contribution, total;
  bool from_root;
};

class Round final : public Joint {
 public:
  Round(RankState& rank, const Collective& c, std::uint64_t length_ns)
      : Joint(rank, length_ns),
        call_(c),
        shares_(c, rank.segment->ranks()),
        meeting_(rank.segment->round(++rank.rounds)) {}

 private:
  bool post_all(std::uint64_t start_ns) override {
    const int me = segment_->rank();
    std::vector<unsigned char> bytes;
    if (shares_.travels() && shares_.contributes(me) && readable(call_.from)) {
      const auto* from = static_cast<const unsigned char*>(call_.from);
      bytes.assign(from, from + shares_.contribution);
      scale(bytes);
    }
    return segment_->post(meeting_, me, start_ns, shares_.offset(me), bytes.data(), bytes.size());
  }

  bool met_all(std::uint64_t* latest_ns) override {
    return segment_->all_arrived(meeting_, latest_ns);
  }

  void take_all() override {
    if (readable(call_.to)) {
      if (shares_.travels())
        take_small();
      else
        keep_own();
    }
    RankSegment::finish(meeting_, segment_->rank());
  }

  void scale(std::vector<unsigned char>& bytes) const {
    if (!call_.scaled) return;
    const void* factor = call_.factor_at != nullptr ? call_.factor_at : call_.factor;
    multiply(call_.number, bytes.data(), bytes.size() / size_of(call_.number), factor);
  }

  /// Part `index` of what `rank` contributed, or null if it is gone.
  const unsigned char* part(int rank, int index) const {
    const unsigned char* all =
        segment_->carried(meeting_, rank, shares_.offset(rank), shares_.contribution);
    return all != nullptr ? all + static_cast<std::size_t>(index) * shares_.part : nullptr;
  }

  /// Writes `bytes` as part `index` of the result.
  void put(int index, const unsigned char* bytes) const {
    if (bytes == nullptr) return;
    move_bytes(address(call_.to) + static_cast<std::size_t>(index) * shares_.part, address(bytes),
               shares_.part);
  }

  /// Writes the combination of part `index` of all ranks.
  void put_combined(int index) const {
    std::vector<unsigned char> sum;
    for (int r = 0; r < shares_.ranks; ++r) {
      const unsigned char* other = part(r, index);
      if (other == nullptr) continue;
      if (sum.empty())
        sum.assign(other, other + shares_.part);
      else
        combine(call_.number, call_.how, sum.data(), other, call_.count);
    }
    if (sum.empty()) return;
    if (call_.how == Combine::kAverage)
      divide(call_.number, sum.data(), call_.count, shares_.ranks);
    put(0, sum.data());
  }

  void take_small() const {
    const int me = segment_->rank();
    switch (call_.kind) {
      case CollectiveKind::kReduce:
        if (me == call_.root) put_combined(0);
        break;
      case CollectiveKind::kAllReduce:
        put_combined(0);
        break;
      case CollectiveKind::kReduceScatter:
        put_combined(me);
        break;
      case CollectiveKind::kBroadcast:
        put(0, part(call_.root, 0));
        break;
      case CollectiveKind::kScatter:
        put(0, part(call_.root, me));
        break;
      case CollectiveKind::kGather:
        if (me != call_.root) break;
        [[fallthrough]];
      case CollectiveKind::kAllGather:
        for (int r = 0; r < shares_.ranks; ++r) put(r, part(r, 0));
        break;
      case CollectiveKind::kAllToAll:
        for (int r = 0; r < shares_.ranks; ++r) put(r, part(r, me));
        break;
    }
  }

  /// A large payload stays where it is: the result is what this rank alone contributes.
  void keep_own() const {
    const int me = segment_->rank();
    const auto own = static_cast<std::size_t>(me) * shares_.part;
    std::uintptr_t to = address(call_.to), from = address(call_.from);
    switch (call_.kind) {
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kReduce:
        if (me != call_.root) return;
        break;
      case CollectiveKind::kAllReduce:
        break;
      case CollectiveKind::kReduceScatter:
        from += own;
        break;
      case CollectiveKind::kAllGather:
        to += own;
        break;
      default:
        return;
    }
    if (to != from && readable(call_.from)) move_bytes(to, from, shares_.part);
  }

  Collective call_;
  Shares shares_;
  RendezvousSlot meeting_;
};

class Messages final : public Joint {
 public:
  Messages(RankState& rank, const std::vector<Message>& messages, std::uint64_t length_ns)
      : Joint(rank, length_ns) {
    const int me = rank.segment->rank();
    for (const Message& m : messages) {
      const RendezvousSlot meeting = m.send ? segment_->pair(me, m.peer, ++rank.sent[m.peer])
                                            : segment_->pair(m.peer, me, ++rank.received[m.peer]);
      parts_.push_back({m, meeting, false});
    }
  }

 private:
  struct Part {
    Message message;
    RendezvousSlot meeting;
    bool posted;
  };

  bool post_all(std::uint64_t start_ns) override {
    bool all = true;
    for (Part& p : parts_) {
      const Message& m = p.message;
      const bool carry = m.send && m.bytes <= kPairPayload && readable(m.buffer);
      p.posted = p.posted || segment_->post(p.meeting, m.send ? 0 : 1, start_ns, 0, m.buffer,
                                            carry ? m.bytes : 0);
      all = all && p.posted;
    }
    return all;
  }

  bool met_all(std::uint64_t* latest_ns) override {
    for (const Part& p : parts_) {
      std::uint64_t latest = 0;
      if (!segment_->all_arrived(p.meeting, &latest)) return false;
      *latest_ns = std::max(*latest_ns, latest);
    }
    return true;
  }

  void take_all() override {
    for (const Part& p : parts_) {
      const Message& m = p.message;
      const unsigned char* bytes = m.send ? nullptr : segment_->carried(p.meeting, 0, 0, m.bytes);
      if (bytes != nullptr && readable(m.buffer))
        move_bytes(address(m.buffer), address(bytes), m.bytes);
      RankSegment::finish(p.meeting, m.send ? 0 : 1);
    }
  }

  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<Rendezvous> next_round(RankState& rank, const Collective& c) {
  const std::uint64_t length = collective_ns(c, rank.segment->ranks());
  return std::make_unique<Round>(rank, c, scaled(static_cast<double>(length)));
}

std::unique_ptr<Rendezvous> next_messages(RankState& rank, const std::vector<Message>& messages) {
  const std::uint64_t length = messages_ns(messages, rank.segment->ranks());
  return std::make_unique<Messages>(rank, messages, scaled(static_cast<double>(length)));
}

std::uint64_t collective_ns(const Collective& c, int ranks) {
  const Shares shares(c, ranks);
  const double others = ranks - 1;
  const auto part = static_cast<double>(shares.part);
  switch (c.kind) {
    case CollectiveKind::kAllReduce:
      return lasting(2 * others / ranks * part, ranks);
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return lasting(part, ranks);
    default:
      return lasting(others * part, ranks);
  }
}

std::uint64_t messages_ns(const std::vector<Message>& messages, int ranks) {
  double out = 0, in = 0;
  for (const Message& m : messages) (m.send ? out : in) += static_cast<double>(m.bytes);
  return lasting(std::max(out, in), ranks);
}

std::size_t collective_bytes(const Collective& c, int ranks) {
  const std::size_t part = c.count * size_of(c.number);
  switch (c.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return part;
    default:
      return part * static_cast<std::size_t>(ranks);
  }
}

}  // namespace gpusim
