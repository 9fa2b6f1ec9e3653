// SPDX-License-Identifier: Apache-2.0
//
// Guards and definitions: what happens before a record is pushed.
//
// Context:  signal
// Owns:     nothing
#include "inject/hot/recorder.hpp"

#include "inject/hot/ring_claim.hpp"

namespace gpuprof::hot {

namespace {

// Cuts to at most `limit` bytes without splitting a UTF-8 sequence.
std::uint32_t cut_utf8(const char* text, std::uint32_t bytes, std::uint32_t limit) {
  if (bytes <= limit) return bytes;
  std::uint32_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return end;
}

}  // namespace

void Guard::enter_slow(RingRole role, bool delivers) {
  ThreadSlot* slot = t_local.slot != nullptr ? t_local.slot : claim_slot();
  if (slot == nullptr) return;
  std::atomic<std::uint8_t>& mark = slot->inside_flag(role);
  if (mark.load(std::memory_order_relaxed) != 0) return;
  mark.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (is_owner_process() && prepare(*slot, role, delivers))
    mark_ = &mark;
  else
    mark.store(0, std::memory_order_release);
}

bool Guard::prepare(ThreadSlot& slot, RingRole role, bool delivers) {
  const std::uint32_t epoch = g_state.epoch.load(std::memory_order_acquire);
  if (slot.epoch.load(std::memory_order_relaxed) != epoch) {
    // A signal inside a callback of another session, which goes on with what it has.
    const RingRole other = role == RingRole::kCallback ? RingRole::kSignal : RingRole::kCallback;
    if (slot.inside_flag(other).load(std::memory_order_relaxed) != 0 || !prepare_block(slot))
      return false;
  }
  ThreadBlock* block = slot.block;
  RingProducer* producer = block == nullptr ? nullptr : &block->producer_of(role);
  if (producer == nullptr ||
      (!producer->ring.valid() && (producer->no_ring || !claim_ring(*block, role, delivers)))) {
    count(wire::Counter::kDroppedNoRing);
    return false;
  }
  block_ = block;
  producer_ = producer;
  return true;
}

void send_string_def(const Guard& guard, std::uint64_t id, const char* text, std::uint32_t bytes,
                     std::uint64_t ts_ns) {
  const std::uint32_t kept = cut_utf8(text, bytes, wire::kMaxTextBytes);
  const wire::StringDef def{id, kept, kept == bytes ? 0 : wire::kStringCut};
  if (record(guard, def, ts_ns, text, kept)) guard.producer().strings.insert(id);
}

void send_stack_def(const Guard& guard, const wire::StackDef& def, const void* tail,
                    std::uint32_t tail_bytes, std::uint64_t ts_ns) {
  RingProducer& producer = guard.producer();
  if (producer.stacks.contains(def.id, producer.ring.epoch())) return;
  if (record(guard, def, ts_ns, tail, tail_bytes)) producer.stacks.insert(def.id);
}

}  // namespace gpuprof::hot
