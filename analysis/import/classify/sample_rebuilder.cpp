// SPDX-License-Identifier: Apache-2.0
//
// SampleRows.
//
// Context:  cli through analysis/commands
#include "analysis/import/classify/sample_rebuilder.hpp"

namespace gpuprof::importer {

/// Does a change fit what is open on its row?
SampleRows::Outcome SampleRows::check(const Row& row, bool begins, bool blocked, bool bare,
                                      std::uint32_t text) const {
  bool fits = false;
  if (blocked)
    fits = row.blocked != begins;
  else if (bare)
    fits = row.bare != begins;
  else if (begins)
    fits = row.open.size() < kMaxOpen;
  else
    fits = !row.open.empty() && row.open.back().text == text;
  return fits ? Outcome::kTaken : Outcome::kHalf;
}

SampleRows::Outcome SampleRows::change(std::uint32_t tid, bool begins, bool blocked,
                                       std::string_view name, std::int64_t ts_ns) {
  if (rows_.size() >= kMaxRows && !rows_.contains(tid)) return Outcome::kHalf;
  Row& row = rows_[tid];
  const bool bare = !blocked && name == "(no stack)";
  const std::uint32_t text = blocked || bare ? 0 : names_.texts.intern(name);
  if (ts_ns < row.since_ns) return Outcome::kDisorder;
  if (const Outcome outcome = check(row, begins, blocked, bare, text); outcome != Outcome::kTaken)
    return outcome;
  const bool open = !row.open.empty() || row.blocked || row.bare;
  if (open && ts_ns > row.since_ns)
    take_(tid, row.since_ns, ts_ns,
          {row.open.empty() ? 0 : row.open.back().node, row.blocked ? 1U : 0U});
  row.since_ns = ts_ns;
  if (blocked) {
    row.blocked = begins;
  } else if (bare) {
    row.bare = begins;
  } else if (begins) {
    const Node outer = row.open.empty() ? 0 : row.open.back().node;
    row.open.push_back({names_.ways.enter(outer, {text, 0}), text});
  } else {
    row.open.pop_back();
  }
  return Outcome::kTaken;
}

SampleRows::Unended SampleRows::unended() const {
  Unended all;
  for (const auto& [tid, row] : rows_) {
    all.frames += row.open.size() + (row.bare ? 1 : 0);
    all.blocked += row.blocked ? 1 : 0;
  }
  return all;
}

}  // namespace gpuprof::importer
