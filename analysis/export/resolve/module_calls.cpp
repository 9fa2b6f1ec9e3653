// SPDX-License-Identifier: Apache-2.0
//
// Calls of modules between operators of one parent.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/resolve/module_calls.hpp"

#include <algorithm>

namespace gpuprof::exporter {
namespace {

/// More parents at once than any thread has operators open: their ends were lost.
constexpr std::size_t kMaxScopes = 4096;
/// Between two operators lies more than this.
constexpr std::uint64_t kMaxPaddingNs = 15;

}  // namespace

/// Hands over all but the outermost `keep`. @param limit_ns  When what is outside of them goes on.
void ModuleCalls::close(Scope& scope, std::size_t keep, std::uint32_t tid, std::uint64_t limit_ns) {
  if (scope.open.size() <= keep) return;
  // Each outer one a nanosecond more than the next inner one, so that they nest however added up.
  std::uint64_t more_ns = std::min<std::uint64_t>(scope.open.size() - keep, kMaxPaddingNs);
  for (auto call = scope.open.begin() + static_cast<std::ptrdiff_t>(keep); call != scope.open.end();
       ++call) {
    const std::uint64_t end_ns =
        std::max(call->end_ns, std::min(call->end_ns + more_ns, limit_ns - 1));
    take_({call->level.path, tid, call->start_ns, end_ns});
    scope.written_until_ns = std::max(scope.written_until_ns, call->end_ns);
    if (more_ns > 1) --more_ns;
  }
  scope.open.resize(keep);
}

/// Steps follow each other: odd numbers are steps, even ones what lies between them.
std::size_t ModuleCalls::segment_of(std::uint32_t tid, std::uint64_t ns) const {
  const auto step =
      std::upper_bound(steps_.begin(), steps_.end(), ns,
                       [](std::uint64_t at, const model::Step& s) { return at < s.end_ns; });
  const auto before = 2 * static_cast<std::size_t>(step - steps_.begin());
  if (steps_.empty() || steps_.front().tid != tid) return 0;
  return before + (step != steps_.end() && step->start_ns <= ns ? 1 : 0);
}

/// What was called in an operator ends with it. Calls around the operator show in its own stack
/// too and are not its; where that is not known, what its parent has open tells.
void ModuleCalls::leave(Scopes& scopes, const EndedOperator& op,
                        std::span<const ModulePaths::Level> chain) {
  const auto inner = scopes.find(op.id);
  if (inner == scopes.end()) return;
  auto& open = inner->second.open;
  std::size_t around = 0;
  if (op.has_module_info) {
    while (around < std::min(open.size(), chain.size()) && open[around].level == chain[around])
      ++around;
  } else if (const auto outer = scopes.find(op.parent); outer != scopes.end()) {
    const auto& theirs = outer->second.open;
    while (around < std::min(open.size(), theirs.size()) &&
           open[around].level == theirs[around].level)
      ++around;
  }
  open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(around));
  close(inner->second, 0, op.tid, op.interval.end_ns);
  scopes.erase(inner);
}

void ModuleCalls::add(const EndedOperator& op) {
  const auto chain = paths_.chain(op.stack);
  const auto known = threads_.find(op.tid);
  if (known == threads_.end() && chain.empty()) return;
  Scopes& scopes = known == threads_.end() ? threads_[op.tid] : known->second;
  leave(scopes, op, op.is_nested ? chain : chain.first(0));
  if (!op.is_nested || !op.has_module_info) return;
  if (scopes.size() > kMaxScopes) {
    for (auto& [parent, scope] : scopes) close(scope, 0, op.tid, op.interval.start_ns);
    scopes.clear();
  }
  if (chain.empty() && !scopes.contains(op.parent)) return;
  Scope& scope = scopes[op.parent];
  const auto [start, end] = op.interval;
  if (start < scope.written_until_ns) return;  // told late: what it lies in is written
  const std::size_t segment = segment_of(op.tid, start);
  std::size_t same = 0;
  while (segment == scope.segment && same < std::min(scope.open.size(), chain.size()) &&
         scope.open[same].level == chain[same])
    ++same;
  close(scope, same, op.tid, start);
  scope.segment = segment;
  for (Open& call : scope.open) {
    call.start_ns = std::min(call.start_ns, start);
    call.end_ns = std::max(call.end_ns, end);
  }
  for (const ModulePaths::Level& level : chain.subspan(same))
    scope.open.push_back({level, start, end});
}

void ModuleCalls::finish() {
  for (auto& [tid, scopes] : threads_)
    for (auto& [parent, scope] : scopes) close(scope, 0, tid, ~0ULL);
  threads_.clear();
}

}  // namespace gpuprof::exporter
