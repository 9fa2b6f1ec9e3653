// SPDX-License-Identifier: Apache-2.0
//
// Keeps the events of one stretch, on tracks of threads and streams.
//
// Context:  cli
#include "analysis/report/page/slice_sink.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/messages/page.hpp"
#include "support/text/text.hpp"

namespace gpuprof::report::page {
namespace {

constexpr std::uint32_t kMaxRows = 60;
constexpr std::size_t kMaxName = 400;

std::string shape_text(const std::array<std::uint32_t, 3>& of) {
  return fmt::format("[{}, {}, {}]", of[0], of[1], of[2]);
}

}  // namespace

std::uint32_t SliceStrings::id(std::string_view text) {
  if (text.empty()) return 0;
  const auto [at, made] = ids_.try_emplace(std::string(text.substr(0, kMaxName)),
                                           static_cast<std::uint32_t>(strings_.size()));
  if (made) strings_.push_back(text.size() > kMaxName ? at->first + "…" : at->first);
  return at->second;
}

void SliceSink::keep(const TrackKey& track, SliceKind kind, std::uint64_t start_ns,
                     std::uint64_t end_ns, std::string_view name, std::uint32_t flow,
                     std::string_view detail) {
  if (start_ns >= cut_ns_) {
    ++left_out_;
    return;
  }
  kept_.push_back({track, start_ns, std::max(start_ns, end_ns), texts_.id(name), texts_.id(detail),
                   flow, kind});
  if (kept_.size() >= 2 * limit_) drop_latest();
}

void SliceSink::drop_latest() {
  const auto at = kept_.begin() + static_cast<std::ptrdiff_t>(limit_);
  std::nth_element(kept_.begin(), at, kept_.end(),
                   [](const KeptEvent& a, const KeptEvent& b) { return a.start_ns < b.start_ns; });
  cut_ns_ = at->start_ns;
  left_out_ += std::erase_if(kept_, [this](const KeptEvent& e) { return e.start_ns >= cut_ns_; });
}

void SliceSink::on(const exporter::ResolvedStep& shown) {
  keep({Group::kSteps, 0, 0}, SliceKind::kStep, shown.event.start_ns, shown.event.end_ns,
       fmt::format("step {}", shown.event.label), 0, shown.where);
}

void SliceSink::on(const exporter::ResolvedOperator& shown) {
  keep({Group::kThread, shown.event.tid, 0}, SliceKind::kOperator, shown.interval.start_ns,
       shown.interval.end_ns, shown.name);
}

void SliceSink::on(const exporter::ResolvedRange& shown) {
  if (shown.event.kind == model::RangeKind::kMark) return;
  keep({Group::kThread, shown.event.tid, 0}, SliceKind::kAnnotation, shown.interval.start_ns,
       shown.interval.end_ns, shown.name, 0, shown.domain);
}

void SliceSink::on(const exporter::ResolvedApiCall& shown) {
  if (shown.nested) return;
  keep({Group::kThread, shown.event.tid, 0}, SliceKind::kCall, shown.event.start_ns,
       shown.event.end_ns, shown.name, shown.has_gpu_work ? shown.event.correlation : 0);
}

void SliceSink::on(const exporter::ResolvedGpuEvent<model::Kernel>& shown) {
  keep({Group::kStream, shown.device, shown.event.stream}, SliceKind::kKernel, shown.event.start_ns,
       shown.event.end_ns, shown.name, shown.has_launch ? shown.event.correlation : 0,
       fmt::format("grid {}, block {}, {} registers", shape_text(shown.event.grid),
                   shape_text(shown.event.block), shown.event.registers));
}

void SliceSink::on(const exporter::ResolvedGpuEvent<model::MemCopy>& shown) {
  keep({Group::kStream, shown.device, shown.event.stream}, SliceKind::kCopy, shown.event.start_ns,
       shown.event.end_ns, shown.name, shown.has_launch ? shown.event.correlation : 0,
       support::human_bytes(shown.event.bytes));
}

void SliceSink::on(const exporter::ResolvedGpuEvent<model::MemSet>& shown) {
  keep({Group::kStream, shown.device, shown.event.stream}, SliceKind::kSet, shown.event.start_ns,
       shown.event.end_ns, shown.name, shown.has_launch ? shown.event.correlation : 0,
       support::human_bytes(shown.event.bytes));
}

void SliceSink::on(const exporter::ResolvedGpuEvent<model::GraphExec>& shown) {
  keep({Group::kStream, shown.device, shown.event.stream}, SliceKind::kKernel, shown.event.start_ns,
       shown.event.end_ns, shown.name, shown.has_launch ? shown.event.correlation : 0);
}

void SliceSink::on(const exporter::ResolvedSync& shown) {
  keep({Group::kSync, shown.device, 0}, SliceKind::kSync, shown.event.start_ns, shown.event.end_ns,
       shown.name);
}

void SliceSink::on(const exporter::ModuleCall& call) {
  const std::string path = prescan_.modules.name(call.path, prescan_.names);
  keep({Group::kThread, call.tid, 0}, SliceKind::kModule, call.start_ns, call.end_ns, path);
}

std::string SliceSink::title(const TrackKey& key) const {
  const auto [group, which, stream] = key;
  switch (group) {
    case Group::kSteps:
      return "Steps";
    case Group::kStream:
      return fmt::format("GPU {}, stream {}", which, stream);
    case Group::kSync:
      return fmt::format("GPU {}, waits", which);
    case Group::kThread:
      break;
  }
  const auto thread = prescan_.threads.find(static_cast<std::uint32_t>(which));
  if (thread == prescan_.threads.end() || thread->second.name.empty())
    return fmt::format("Thread {}", which);
  return fmt::format("Thread {} ({})", thread->second.name, which);
}

/// Each event in the first row that is free again: what nests lies below what it is in.
void SliceSink::place(Slice& slice, std::vector<KeptEvent>::const_iterator first,
                      std::vector<KeptEvent>::const_iterator last) const {
  SliceTrack track{title(first->track), 0};
  std::vector<std::uint64_t> free_from;
  for (auto e = first; e != last; ++e) {
    std::uint32_t row = 0;
    while (row < free_from.size() && free_from[row] > e->start_ns) ++row;
    row = std::min(row, kMaxRows - 1);
    if (row >= free_from.size()) free_from.resize(row + 1);
    free_from[row] = std::max(free_from[row], e->end_ns);
    slice.events.push_back({static_cast<std::int64_t>(e->start_ns - prescan_.window.start_ns),
                            e->end_ns - e->start_ns,
                            static_cast<std::uint32_t>(slice.tracks.size()), row, e->name,
                            e->detail, e->flow, e->kind});
  }
  track.rows = static_cast<std::uint32_t>(free_from.size());
  slice.tracks.push_back(std::move(track));
}

void SliceSink::finish(Slice& slice) {
  if (kept_.size() > limit_) drop_latest();
  std::sort(kept_.begin(), kept_.end(), [](const KeptEvent& a, const KeptEvent& b) {
    return std::tie(a.track, a.start_ns, b.end_ns, a.kind) <
           std::tie(b.track, b.start_ns, a.end_ns, b.kind);
  });
  std::uint64_t end_ns = std::min(prescan_.window.end_ns, cut_ns_);
  for (auto first = kept_.cbegin(); first != kept_.cend();) {
    const auto last = std::find_if(first, kept_.cend(),
                                   [first](const KeptEvent& e) { return e.track != first->track; });
    // What was launched in the stretch may end after it.
    for (auto e = first; e != last; ++e)
      if (std::get<Group>(e->track) == Group::kStream) end_ns = std::max(end_ns, e->end_ns);
    place(slice, first, last);
    first = last;
  }
  slice.length_ns = end_ns - prescan_.window.start_ns;
  std::sort(slice.events.begin(), slice.events.end(), [](const SliceEvent& a, const SliceEvent& b) {
    return std::tie(a.track, a.row, a.start_ns) < std::tie(b.track, b.row, b.start_ns);
  });
  if (left_out_ > 0) {
    slice.note = fmt::format(messages::page::kSectionIsCut,
                             support::human_duration(cut_ns_ - prescan_.window.start_ns),
                             support::count_with_unit(left_out_, "event", "events"));
  }
}

}  // namespace gpuprof::report::page
