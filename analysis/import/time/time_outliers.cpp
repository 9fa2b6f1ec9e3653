// SPDX-License-Identifier: Apache-2.0
//
// TimeHistogram; drop_time_outliers() as one more pass over the records, of such files only.
//
// Context:  cli through analysis/commands
#include "analysis/import/time/time_outliers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "analysis/import/classify/classify.hpp"
#include "analysis/messages/import_events.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::int64_t kNsPerUs = 1000;
constexpr std::int64_t kNear0Ns = 60'000'000'000;

/// As Classifier::add_current() counts them.
void count(const ParsedEvent& r, std::vector<PidTrack>& rows) {
  if (r.process == kNoProcess) return;
  PidTrack& row = rows[r.process];
  if (r.kind >= ParsedKind::kSync) {
    ++row.gpu_events;
    return;
  }
  if (row.host_events++ == 0) row.first = row.last = r.sequence;
  row.first = std::min(row.first, r.sequence);
  row.last = std::max(row.last, r.sequence);
}

/// Times of the records that are kept, and of those that are not.
struct Seen {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  void add(const ParsedEvent& r) {
    first_ns = std::min(first_ns, r.start_ns);
    last_ns = std::max(last_ns, r.end_ns);
  }
  std::string first() const { return fmt::format("{} us", first_ns / kNsPerUs); }
  std::string last() const { return fmt::format("{} us", last_ns / kNsPerUs); }
};

}  // namespace

void TimeHistogram::find(std::int64_t start_ns) {
  last_key_ = start_ns >> shift_;
  const auto [at, added] = stretches_.try_emplace(last_key_);
  if (added) at->second = {start_ns, start_ns, start_ns, 1};
  last_ = &at->second;
  if (stretches_.size() <= kMaxBuckets) return;
  coarsen();
  last_key_ = start_ns >> shift_;
  last_ = &stretches_.at(last_key_);
}

void TimeHistogram::coarsen() {
  shift_ += 2;
  std::map<std::int64_t, Bucket> coarse;
  for (const auto& [key, stretch] : stretches_) {
    const auto [at, added] = coarse.try_emplace(key >> 2, stretch);
    if (added) continue;
    at->second.last_ns = stretch.last_ns;
    at->second.changes += stretch.changes;
  }
  stretches_ = std::move(coarse);
}

std::optional<TimeHistogram::Bounds> TimeHistogram::bounds() const {
  if (stretches_.empty()) return {};  // nothing, or all of it at 0
  struct Body {
    std::int64_t from_ns, to_ns;
    std::uint64_t changes;
  };
  std::optional<Body> best, body;
  std::size_t bodies = 0;
  const auto settle = [&] {
    if (!best || body->changes >= best->changes) best = body;
  };
  for (const auto& [key, stretch] : stretches_) {
    if (body && stretch.first_ns - body->to_ns <= kMaxGapNs) {
      body->to_ns = stretch.last_ns;
      body->changes += stretch.changes;
      continue;
    }
    if (body) settle();
    ++bodies;
    body = Body{stretch.first_ns, stretch.last_ns, stretch.changes};
  }
  settle();
  Bounds bounds{best->from_ns, best->to_ns, true};
  // A profiler that counts from its own begin may see something at 0; of others that is no time.
  const std::int64_t length_ns = std::min(bounds.to_ns - bounds.from_ns, kLatestNs / 10);
  const std::int64_t near_ns = std::max(kNear0Ns, length_ns * 10);
  bounds.zero = bounds.from_ns <= near_ns && bounds.to_ns >= -near_ns;
  const bool all =
      bodies == 1 && (zeros_ == 0 || bounds.zero) && latest_end_ns_ - bounds.to_ns <= kMaxGapNs;
  return all ? std::nullopt : std::optional(bounds);
}

support::Result<std::string> drop_time_outliers(FileContent& content, const std::string& folder) {
  const auto bounds = content.times.bounds();
  if (!bounds) return std::string();
  Sorter kept(folder);
  Seen rest, aside, events;
  for (PidTrack& row : content.tracks) row.host_events = row.gpu_events = 0;
  GPUPROF_CHECK(content.sorter.rewind());
  while (const ParsedEvent* const r = content.sorter.next()) {
    if (!bounds->holds(r->start_ns, r->end_ns)) {
      aside.add(*r);
      content.account.move_to_skipped(SkipReason::kTimeOutlier, label_of(r->kind));
      continue;
    }
    rest.add(*r);
    if (is_event(r->kind)) events.add(*r);
    count(*r, content.tracks);
    kept.add_numbered(*r);
  }
  if (!content.sorter.failure().empty()) return support::error(content.sorter.failure());
  content.sorter = std::move(kept);
  if (events.first_ns > events.last_ns) events = rest;
  content.first_ns = events.first_ns;
  content.last_ns = events.last_ns;
  return fmt::format(messages::import_events::kOutlierTimes, aside.first(), aside.last(),
                     rest.first(), rest.last());
}

}  // namespace gpuprof::importer
