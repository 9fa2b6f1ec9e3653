// SPDX-License-Identifier: Apache-2.0
//
// See range_history.hpp.
//
// Context:  daemon (ingest thread)
// Owns:     nothing of its own
#include "daemon/ingest/correlation/range_history.hpp"

#include <algorithm>

namespace gpuprof::ingest {

// A thread that was in none leaves nothing: programs make millions of them.
RangeHistory::Turns* RangeHistory::changes_of(std::uint32_t tid, bool make) {
  if (last_ != nullptr && last_tid_ == tid) return last_;
  const auto found = make ? threads_.try_emplace(tid).first : threads_.find(tid);
  if (found == threads_.end()) return nullptr;
  last_tid_ = tid;
  return last_ = &found->second;
}

void RangeHistory::forget_half(Turns& turns) {
  const std::size_t half = (turns.size() + 1) / 2;
  turns.erase(turns.begin(), turns.begin() + static_cast<std::ptrdiff_t>(half));
  kept_ -= half;
}

void RangeHistory::forget_half_of_all() {
  last_ = nullptr;
  for (auto& [tid, turns] : threads_) {
    forget_half(turns);
    turns.shrink_to_fit();
  }
  std::erase_if(threads_, [](const auto& thread) { return thread.second.empty(); });
}

void RangeHistory::enter(std::uint32_t tid, std::uint64_t ts_ns, model::RangeId range) {
  if (kept_ >= kMaxOfAll) forget_half_of_all();
  Turns* turns = changes_of(tid, range != 0);
  if (turns == nullptr) return;
  const RangeChange before = turns->empty() ? RangeChange{0, 0} : turns->back();
  if (before.range == range) return;
  if (turns->size() >= kMaxOfOne) forget_half(*turns);
  turns->push_back({std::max(ts_ns, before.ts_ns), range});
  ++kept_;
}

void RangeHistory::leave_all(std::uint64_t ts_ns) {
  for (auto& [tid, turns] : threads_) {
    if (turns.empty() || turns.back().range == 0 || turns.back().ts_ns >= ts_ns) continue;
    turns.push_back({ts_ns, 0});
    ++kept_;
  }
}

model::RangeId RangeHistory::at(std::uint32_t tid, std::uint64_t ts_ns) const {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end()) return 0;
  const Turns& turns = thread->second;
  const auto later =
      std::upper_bound(turns.begin(), turns.end(), ts_ns,
                       [](std::uint64_t ts, const RangeChange& turn) { return ts < turn.ts_ns; });
  return later == turns.begin() ? 0 : std::prev(later)->range;
}

}  // namespace gpuprof::ingest
