// SPDX-License-Identifier: Apache-2.0
//
// The launch side: hash, look up, count.
//
// Context:  callback
// Owns:     nothing
#include "inject/cupti/callbacks/kernel_steps.hpp"

#include <cstring>

#include "inject/hot/steps.hpp"

namespace gpuprof::cupti {

constinit std::atomic<StepTable*> g_step_table{nullptr};

namespace {

constexpr std::uint32_t kProbes = 32;

// Null: the neighbourhood is full.
StepName* find_or_add(StepTable& table, std::uint64_t id) {
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    StepName& entry = table.names[(id + i) % kStepNames];
    std::uint64_t known = entry.id.load(std::memory_order_acquire);
    if (known == 0 && entry.id.compare_exchange_strong(known, id, std::memory_order_acq_rel))
      known = id;
    if (known == id) return &entry;
  }
  return nullptr;
}

// Leaves the text for the worker; false: no room now, the next launch tries again.
bool request_match(StepTable& table, StepName* entry, const char* name, std::uint32_t bytes) {
  for (PendingName& waiting : table.waiting) {
    std::uint32_t free = 0;
    if (waiting.state.load(std::memory_order_relaxed) != 0 ||
        !waiting.state.compare_exchange_strong(free, 1, std::memory_order_acquire))
      continue;
    waiting.bytes = bytes < kStepNameBytes ? bytes : kStepNameBytes;
    waiting.entry = entry;
    std::memcpy(waiting.text, name, waiting.bytes);
    waiting.state.store(2, std::memory_order_release);  // pairs with match_pending
    return true;
  }
  return false;
}

}  // namespace

void on_kernel_launch(const hot::Guard& guard, const char* name, std::uint64_t now_ns) {
  StepTable* table = g_step_table.load(std::memory_order_acquire);
  if (table == nullptr) return;
  const auto bytes = static_cast<std::uint32_t>(std::strlen(name));
  const std::uint64_t id = base::hash_bytes(name, bytes);
  StepName* entry = find_or_add(*table, id);
  if (entry == nullptr) return;
  auto verdict = static_cast<MatchState>(entry->verdict.load(std::memory_order_acquire));
  if (verdict == MatchState::kNoMatch) return;
  if (verdict == MatchState::kMatch) {
    hot::step_begin(guard, wire::StepSource::kKernel, now_ns);
    return;
  }
  // The daemon numbers these once it has the answer; our own counter begins after it.
  const std::uint64_t name_id = hot::intern(guard, name, bytes, now_ns);
  hot::record_reserved(guard, wire::UnmatchedLaunch{now_ns, name_id}, now_ns);
  auto fresh = static_cast<std::uint32_t>(MatchState::kNew);
  if (!entry->verdict.compare_exchange_strong(
          fresh, static_cast<std::uint32_t>(MatchState::kPending), std::memory_order_acq_rel))
    return;
  if (request_match(*table, entry, name, bytes))
    hot::wake_worker();
  else
    entry->verdict.store(static_cast<std::uint32_t>(MatchState::kNew), std::memory_order_release);
}

}  // namespace gpuprof::cupti
