// SPDX-License-Identifier: Apache-2.0
//
// Sequence numbers of autograd, matched.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/resolve/backward_links.hpp"

namespace gpuprof::exporter {

BackwardLinks::Match BackwardLinks::add(const model::Operator& op, OpKind kind,
                                        std::uint64_t drawn_ns, bool outermost) {
  if (kind == OpKind::kEvaluateFunction) {
    const auto found = pending_.find(op.id);
    if (found == pending_.end()) return {};
    Match result{found->second.module, std::nullopt};
    if (outermost) result.link = found->second.link;
    pending_.erase(found);
    return result;
  }
  if (op.sequence < 0) return {};
  if (op.scope == model::kScopeBackward) return node(op, drawn_ns);
  remember(op, drawn_ns);
  return {};
}

bool BackwardLinks::has_forward(const model::Operator& node) const {
  const auto thread = forward_.find(node.forward_tid);
  return thread != forward_.end() &&
         thread->second[static_cast<std::uint64_t>(node.sequence) % kSlots].sequence ==
             node.sequence;
}

// Inner operators carry the number too; the one that began last made the node.
void BackwardLinks::remember(const model::Operator& op, std::uint64_t drawn_ns) {
  auto found = forward_.find(op.tid);
  if (found == forward_.end()) {
    if (forward_.size() >= kMaxThreads) return;
    found = forward_.emplace(op.tid, std::vector<Slot>(kSlots)).first;
  }
  Slot& slot = found->second[static_cast<std::uint64_t>(op.sequence) % kSlots];
  if (slot.sequence == op.sequence && slot.start_ns > drawn_ns) return;
  const auto chain = paths_.chain(op.stack);
  slot = {op.sequence, drawn_ns, chain.empty() ? 0 : chain.back().path, op.id};
}

BackwardLinks::Match BackwardLinks::node(const model::Operator& op, std::uint64_t drawn_ns) {
  const auto thread = forward_.find(op.forward_tid);
  if (thread == forward_.end()) return {};
  const Slot& slot = thread->second[static_cast<std::uint64_t>(op.sequence) % kSlots];
  if (slot.sequence != op.sequence || slot.start_ns >= drawn_ns) return {};
  if (pending_.size() >= kMaxPending) pending_.clear();
  pending_[op.parent] = {slot.module, {op.forward_tid, op.tid, slot.start_ns, drawn_ns, slot.id}};
  return {slot.module, std::nullopt};
}

}  // namespace gpuprof::exporter
