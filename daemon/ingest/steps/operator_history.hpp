// SPDX-License-Identifier: Apache-2.0
//
// The first top-level operators of a process, in order: steps are found by their repetition where
// no loop is known.
//
// Context:  daemon (ingest thread)
// Owns:     up to kMaxOperators operators
// Promises: bounded
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "daemon/ingest/decode/decoder.hpp"

namespace gpuprof::ingest {

class OperatorHistory {
 public:
  static constexpr std::size_t kMaxOperators = 200'000;
  /// Autograd records what is followed; optimizers and evaluations run without.
  enum class Kind : std::uint8_t { kGradTracked, kNoGrad, kBackward };
  struct Op {
    std::uint64_t name_id, begin_ns, end_ns;
    std::uint32_t ring, tid;
    Kind kind;
  };

  void begins(const RingInfo& ring, const wire::OpBegin& op) {
    if (ops_.size() >= kMaxOperators) return;
    if (ring.index >= open_.size()) open_.resize(ring.index + 1, {0, 0});
    open_[ring.index] = {op.object, ops_.size()};
    ops_.push_back(Op{op.name_id, op.ts_ns, op.ts_ns, ring.index, ring.tid, kind_of(op)});
    stacks_ += op.stack_id != 0;
  }
  void ends(const RingInfo& ring, const wire::OpEnd& end) {
    if (ring.index >= open_.size() || open_[ring.index].object != end.object) return;
    if (open_[ring.index].index < ops_.size()) ops_[open_[ring.index].index].end_ns = end.ts_ns;
    open_[ring.index].object = 0;
  }
  void clear() {
    ops_ = {};
    open_ = {};
  }

  /// Most operators came without a Python stack.
  bool without_stacks() const { return stacks_ * 10 < ops_.size(); }
  /// Those of the thread that ran most, threads of autograd aside.
  std::vector<Op> busiest_thread() const {
    std::vector<std::size_t> counts;
    for (const Op& op : ops_) {
      if (op.kind == Kind::kBackward) continue;
      if (op.ring >= counts.size()) counts.resize(op.ring + 1);
      ++counts[op.ring];
    }
    const auto ring =
        static_cast<std::uint32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    std::vector<Op> found;
    std::copy_if(ops_.begin(), ops_.end(), std::back_inserter(found),
                 [ring](const Op& op) { return op.ring == ring; });
    return found;
  }

 private:
  static constexpr std::uint16_t kBackwardScope = 1;  // at::RecordScope
  static Kind kind_of(const wire::OpBegin& op) {
    if (op.scope == kBackwardScope) return Kind::kBackward;
    return op.sequence < 0 ? Kind::kNoGrad : Kind::kGradTracked;
  }

  struct Open {
    std::uint64_t object;
    std::size_t index;
  };
  std::vector<Op> ops_;
  std::vector<Open> open_;  // by ring buffer
  std::size_t stacks_ = 0;
};

}  // namespace gpuprof::ingest
