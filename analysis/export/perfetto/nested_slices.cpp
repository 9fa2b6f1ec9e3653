// SPDX-License-Identifier: Apache-2.0
//
// Sorting a batch, and fitting it to those before.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/perfetto/nested_slices.hpp"

#include <algorithm>

namespace gpuprof::exporter {

void NestedSlices::sort() {
  std::sort(slices_.begin(), slices_.end(), [this](const Slice& a, const Slice& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    return (a.order > b.order) == (equal_ == TieOrder::kLaterIsOuter) && a.order != b.order;
  });
}

/// Against what was handed over in earlier batches: inside one of those, around whole ones or apart
/// from them is fine, but not where a begin would have to come before one that is out already.
bool NestedSlices::overlaps_root(const Slice& slice) const {
  if (slice.start_ns < roots_known_from_ns_) return true;
  if (roots_.empty() || slice.start_ns >= roots_.back().end_ns) return false;
  const auto first = std::lower_bound(
      roots_.begin(), roots_.end(), slice.start_ns,
      [](const Root& root, std::uint64_t start_ns) { return root.start_ns < start_ns; });
  // The one that began before it.
  if (first != roots_.begin()) {
    const Root& before = *(first - 1);
    if (slice.start_ns < before.end_ns) return slice.end_ns > before.end_ns;
  }
  if (first == roots_.end()) return false;
  if (first->start_ns == slice.start_ns) return slice.end_ns > first->end_ns;
  // Begins before those from here on: around whole ones, or wholly before.
  const auto last = std::lower_bound(
      first, roots_.end(), slice.end_ns,
      [](const Root& root, std::uint64_t end_ns) { return root.start_ns < end_ns; });
  if (last != roots_.end() && last->start_ns == slice.end_ns) return true;
  return last != first && (last - 1)->end_ns > slice.end_ns;
}

void NestedSlices::remember_root(const Slice& slice) {
  const auto first = std::lower_bound(
      roots_.begin(), roots_.end(), slice.start_ns,
      [](const Root& root, std::uint64_t start_ns) { return root.start_ns < start_ns; });
  if (first != roots_.begin() && slice.start_ns < (first - 1)->end_ns) return;  // inside
  if (first != roots_.end() && first->start_ns == slice.start_ns && first->end_ns >= slice.end_ns)
    return;
  auto last = first;
  while (last != roots_.end() && last->end_ns <= slice.end_ns) ++last;
  roots_.insert(roots_.erase(first, last), {slice.start_ns, slice.end_ns});
}

void NestedSlices::flush(Sink& out) {
  sort();
  open_.clear();
  new_roots_.clear();
  const auto close_until = [&](std::uint64_t ns) {
    for (; !open_.empty() && open_.back() <= ns; open_.pop_back()) out.end(open_.back());
  };
  for (const Slice& slice : slices_) {
    close_until(slice.start_ns);
    if ((!open_.empty() && slice.end_ns > open_.back()) || overlaps_root(slice)) {
      out.overlapping(slice.start_ns, slice.end_ns, body(slice));
      continue;
    }
    if (open_.empty()) new_roots_.push_back(slice);
    out.begin(slice.start_ns, body(slice));
    open_.push_back(slice.end_ns);
  }
  close_until(~0ULL);
  for (const Slice& slice : new_roots_) remember_root(slice);
  for (; roots_.size() > kMaxRoots; roots_.pop_front())
    roots_known_from_ns_ = roots_.front().end_ns;
  slices_.clear();
  bodies_.clear();
}

std::size_t OverlapTracks::assign_track(std::uint64_t start_ns, std::uint64_t end_ns) {
  const std::size_t from = ends_.size() > kMaxProbes ? ends_.size() - kMaxProbes : 0;
  for (std::size_t i = from; i < ends_.size(); ++i) {
    if (ends_[i] > start_ns) continue;
    ends_[i] = end_ns;
    return i;
  }
  ends_.push_back(end_ns);
  return ends_.size() - 1;
}

}  // namespace gpuprof::exporter
