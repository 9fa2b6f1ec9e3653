// SPDX-License-Identifier: Apache-2.0
//
// Ring buffer claims: one compare-and-swap on the directory.
//
// Context:  signal
// Owns:     nothing
#include "inject/hot/ring_claim.hpp"

#include "gpuprof/base/clock.hpp"

namespace gpuprof::hot {

namespace {

struct Claim {
  const RingDirectory& directory;
  RingProducer& producer;
  RingRole role;
  std::uint32_t tid;
  bool delivers;
};

bool claim_entry(const Claim& claim, std::uint32_t index) {
  wire::RingEntry& entry = claim.directory.rings[index];
  auto expected = static_cast<std::uint32_t>(wire::RingState::kFree);
  if (entry.state.load(std::memory_order_relaxed) != expected) return false;
  // acq_rel: pairs with the daemon's release when it freed the ring buffer (its tail is then
  // final).
  if (!entry.state.compare_exchange_strong(expected,
                                           static_cast<std::uint32_t>(wire::RingState::kActive),
                                           std::memory_order_acq_rel))
    return false;
  auto* header =
      entry.ring.resolve<wire::RingHeader>(claim.directory.segment, claim.directory.segment_bytes);
  if (header == nullptr) return false;
  entry.tid.store(claim.tid, std::memory_order_relaxed);
  entry.role.store(static_cast<std::uint32_t>(claim.role), std::memory_order_relaxed);
  claim.producer.entry = index;
  // No number of another session's ring buffer: what was sent through that is not known here.
  const std::uint32_t first_epoch = (claim.directory.epoch << 16) + 1;
  claim.producer.ring =
      wire::RingWriter(header, reinterpret_cast<std::byte*>(header) + wire::kRingDataOffset,
                       entry.capacity_bytes, first_epoch);
  const std::uint64_t now = base::mono_ns();
  // CUPTI's own threads, which deliver, and ours hold nobody up.
  if (g_state.measures_overhead.load(std::memory_order_relaxed) && !claim.delivers &&
      !is_our_thread(claim.tid))
    claim.producer.overhead.begin(claim.role == RingRole::kSignal, claim.tid);
  claim.producer.ring.push(wire::RingOpen{claim.tid, static_cast<std::uint32_t>(claim.role), now},
                           now);
  return true;
}

bool claim_between(const Claim& claim, std::uint32_t begin, std::uint32_t end) {
  if (begin == end) return false;
  const std::uint32_t span = end - begin;
  for (std::uint32_t i = 0; i < span; ++i)
    if (claim_entry(claim, begin + (claim.tid + i) % span)) return true;
  return false;
}

}  // namespace

bool claim_ring(ThreadBlock& block, RingRole role, bool delivers) {
  const Claim claim{block.directory, block.producer_of(role), role, block.tid, delivers};
  const std::uint32_t large = block.directory.large_rings;
  const std::uint32_t all = block.directory.ring_count;
  const std::uint32_t kept = wire::delivery_rings(large);
  const bool got = (delivers && claim_between(claim, 0, kept)) ||
                   (role == RingRole::kCallback
                        ? claim_between(claim, kept, large) || claim_between(claim, large, all)
                        : claim_between(claim, large, all) || claim_between(claim, kept, large));
  if (!got) {
    claim.producer.no_ring = true;
    count(wire::Counter::kThreadsWithoutRing);
  }
  return got;
}

void retire_ring(RingProducer& producer) {
  if (!producer.ring.valid()) return;
  g_state.rings[producer.entry].state.store(static_cast<std::uint32_t>(wire::RingState::kRetired),
                                            std::memory_order_release);
  producer.ring = wire::RingWriter();
}

}  // namespace gpuprof::hot
