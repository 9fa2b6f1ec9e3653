// SPDX-License-Identifier: Apache-2.0
//
// Autograd's thread may be read before the thread that called it: its nodes wait until the forward
// operators they belong to have come.
//
// Context:  daemon (export thread) | cli
// Owns:     the nodes that wait, at most kMaxDeferred, and how far each thread has been read
// Promises: what waits keeps its order; everything comes in the end
// Not here: which forward operator it is (backward_links.cpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "analysis/export/resolve/backward_links.hpp"

namespace gpuprof::exporter {

class BackwardReorderer {
 public:
  explicit BackwardReorderer(const BackwardLinks& links) : links_(links) {}

  /// Operators of each thread in the order they ended. Calls `take(op)` for this one, or later, and
  /// for those that waited for it.
  template <typename Take>
  void add(const model::Operator& op, OpKind kind, const Take& take) {
    if (try_defer(op, kind)) {
      if (deferred_ > kMaxDeferred) finish(take);
      return;
    }
    take(op);
    Thread* const thread = of(op.tid);
    if (thread == nullptr) return;
    if (op.end_ns > thread->read_until_ns) thread->read_until_ns = op.end_ns;
    release(*thread, thread->read_until_ns, take);
  }
  template <typename Take>
  void finish(const Take& take) {
    for (auto& [tid, thread] : threads_) release(thread, ~std::uint64_t{0}, take);
  }

 private:
  static constexpr std::size_t kMaxDeferred = 65'536;
  static constexpr std::size_t kMaxThreads = 1024;
  struct DeferredNode {
    model::Operator op;
    std::uint64_t began_ns;  // of the node
  };
  struct Thread {
    std::uint64_t read_until_ns = 0;
    std::deque<DeferredNode> nodes;  // of operators it ran forward
  };

  Thread* of(std::uint32_t tid) {
    if (last_ != nullptr && tid == last_tid_) return last_;
    const auto found = threads_.find(tid);
    if (found == threads_.end() && threads_.size() >= kMaxThreads) return nullptr;
    last_tid_ = tid;
    return last_ = found == threads_.end() ? &threads_[tid] : &found->second;
  }

  /// The range around the evaluation of a node ends behind it and waits with it.
  bool try_defer(const model::Operator& op, OpKind kind) {
    if (kind == OpKind::kEvaluateFunction) {
      const auto with = deferred_ == 0 ? evaluations_.end() : evaluations_.find(op.id);
      return with != evaluations_.end() && defer(*of(with->second), op);
    }
    if (op.scope != model::kScopeBackward || op.sequence < 0 || op.forward_tid == 0 ||
        op.forward_tid == op.tid || links_.has_forward(op))
      return false;
    Thread* const forward = of(op.forward_tid);
    if (forward == nullptr || forward->read_until_ns > op.start_ns) return false;
    evaluations_[op.parent] = op.forward_tid;
    return defer(*forward, op);
  }

  bool defer(Thread& forward, const model::Operator& op) {
    const bool node = op.scope == model::kScopeBackward;
    forward.nodes.push_back({op, node ? op.start_ns : forward.nodes.back().began_ns});
    ++deferred_;
    return true;
  }

  template <typename Take>
  void release(Thread& thread, std::uint64_t read_until_ns, const Take& take) {
    while (!thread.nodes.empty() && thread.nodes.front().began_ns < read_until_ns) {
      const DeferredNode held = thread.nodes.front();
      thread.nodes.pop_front();
      --deferred_;
      // A range that has not come yet need not wait any more.
      if (held.op.scope == model::kScopeBackward) evaluations_.erase(held.op.parent);
      take(held.op);
    }
  }

  const BackwardLinks& links_;
  std::unordered_map<std::uint32_t, Thread> threads_;
  std::unordered_map<model::RangeId, std::uint32_t> evaluations_;  // of nodes that wait: the thread
  Thread* last_ = nullptr;
  std::uint32_t last_tid_ = 0;
  std::size_t deferred_ = 0;
};

}  // namespace gpuprof::exporter
