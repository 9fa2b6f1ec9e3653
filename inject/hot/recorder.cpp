// SPDX-License-Identifier: Apache-2.0
//
// Guards and definitions: what happens before a record is pushed.
//
// Context:  signal
// Owns:     nothing
#include "inject/hot/recorder.hpp"

#include "inject/hot/claim.hpp"

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

bool Guard::get_lane(ThreadBlock* block, Role role, bool delivers) {
  Outlet* outlet = outlet_of(block, role);
  if (outlet != nullptr && !outlet->refused &&
      claim_lane(*outlet, role, block->tid.load(std::memory_order_relaxed), delivers))
    return true;
  count(wire::Counter::kDroppedNoLane);
  return false;
}

void define_text(const Guard& guard, std::uint64_t id, const char* text, std::uint32_t bytes,
                 std::uint64_t ts_ns) {
  const std::uint32_t kept = cut_utf8(text, bytes, wire::kMaxTextBytes);
  const wire::StringDef def{id, kept, kept == bytes ? 0 : wire::kStringCut};
  if (record(guard, def, ts_ns, text, kept)) guard.outlet().strings.add(id);
}

void define_stack(const Guard& guard, const wire::StackDef& def, const void* tail,
                  std::uint32_t tail_bytes, std::uint64_t ts_ns) {
  Outlet& outlet = guard.outlet();
  if (outlet.stacks.sent(def.id, outlet.lane.epoch())) return;
  if (record(guard, def, ts_ns, tail, tail_bytes)) outlet.stacks.add(def.id);
}

}  // namespace gpuprof::hot
