// SPDX-License-Identifier: Apache-2.0
//
// Guards and definitions: what happens before a record is pushed.
//
// Context:  signal
// Owns:     nothing
#include "inject/hot/recorder.hpp"

#include <errno.h>

#include "inject/hot/claim.hpp"

namespace gpuprof::hot {

namespace {

// One bit a context: our code already runs there on this thread.
thread_local std::uint8_t t_inside = 0;

// Cuts to at most `limit` bytes without splitting a UTF-8 sequence.
std::uint32_t cut_utf8(const char* text, std::uint32_t bytes, std::uint32_t limit) {
  if (bytes <= limit) return bytes;
  std::uint32_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return end;
}

}  // namespace

Guard::Guard(Role role, bool delivers) : saved_errno_(errno) {
  const auto bit = static_cast<std::uint8_t>(role);
  if (!alive() || (t_inside & bit) != 0) return;
  ThreadBlock* block = this_thread();
  if (block == nullptr) {
    count(wire::Counter::kDroppedNoLane);
    return;
  }
  Outlet& outlet = role == Role::kCallback ? block->callback : block->signal;
  if (!outlet.lane.valid() &&
      (outlet.refused ||
       !claim_lane(outlet, role, block->tid.load(std::memory_order_relaxed), delivers))) {
    count(wire::Counter::kDroppedNoLane);
    return;
  }
  t_inside = static_cast<std::uint8_t>(t_inside | bit);
  bit_ = bit;
  block_ = block;
  outlet_ = &outlet;
}

Guard::~Guard() {
  if (bit_ != 0) t_inside = static_cast<std::uint8_t>(t_inside & ~bit_);
  errno = saved_errno_;
}

std::uint64_t intern(const Guard& guard, const char* text, std::uint32_t bytes,
                     std::uint64_t ts_ns) {
  const std::uint32_t kept = cut_utf8(text, bytes, wire::kMaxTextBytes);
  const std::uint64_t id = base::hash_bytes(text, bytes);
  Outlet& outlet = guard.outlet();
  if (outlet.strings.sent(id, outlet.lane.epoch())) return id;
  const wire::StringDef def{id, kept, kept == bytes ? 0 : wire::kStringCut};
  if (record(guard, def, ts_ns, text, kept)) outlet.strings.add(id);
  return id;
}

void define_stack(const Guard& guard, const wire::StackDef& def, const void* tail,
                  std::uint32_t tail_bytes, std::uint64_t ts_ns) {
  Outlet& outlet = guard.outlet();
  if (outlet.stacks.sent(def.id, outlet.lane.epoch())) return;
  if (record(guard, def, ts_ns, tail, tail_bytes)) outlet.stacks.add(def.id);
}

}  // namespace gpuprof::hot
