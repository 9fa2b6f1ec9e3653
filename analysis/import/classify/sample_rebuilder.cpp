// SPDX-License-Identifier: Apache-2.0
//
// SampleRebuilder.
//
// Context:  cli through analysis/commands
#include "analysis/import/classify/sample_rebuilder.hpp"

namespace gpuprof::importer {

/// Does a change fit what is open on its row?
SampleRebuilder::Outcome SampleRebuilder::check(const Track& row, bool begins, bool off_cpu,
                                                bool without_stack, std::uint32_t text) const {
  bool fits = false;
  if (off_cpu)
    fits = row.off_cpu != begins;
  else if (without_stack)
    fits = row.without_stack != begins;
  else if (begins)
    fits = row.open.size() < kMaxOpen;
  else
    fits = !row.open.empty() && row.open.back().text == text;
  return fits ? Outcome::kTaken : Outcome::kUnpaired;
}

SampleRebuilder::Outcome SampleRebuilder::change(std::uint32_t tid, bool begins, bool off_cpu,
                                                 std::string_view name, std::int64_t ts_ns) {
  if (rows_.size() >= kMaxRows && !rows_.contains(tid)) return Outcome::kUnpaired;
  Track& row = rows_[tid];
  const bool without_stack = !off_cpu && name == "(no stack)";
  const std::uint32_t text = off_cpu || without_stack ? 0 : names_.texts.intern(name);
  if (ts_ns < row.since_ns) return Outcome::kOutOfOrder;
  if (const Outcome outcome = check(row, begins, off_cpu, without_stack, text);
      outcome != Outcome::kTaken)
    return outcome;
  const bool open = !row.open.empty() || row.off_cpu || row.without_stack;
  if (open && ts_ns > row.since_ns)
    take_(tid, row.since_ns, ts_ns,
          {row.open.empty() ? 0 : row.open.back().node, row.off_cpu ? 1U : 0U});
  row.since_ns = ts_ns;
  if (off_cpu) {
    row.off_cpu = begins;
  } else if (without_stack) {
    row.without_stack = begins;
  } else if (begins) {
    const StackNode outer = row.open.empty() ? 0 : row.open.back().node;
    row.open.push_back({names_.ways.child(outer, {text, 0}), text});
  } else {
    row.open.pop_back();
  }
  return Outcome::kTaken;
}

SampleRebuilder::Unended SampleRebuilder::unended() const {
  Unended all;
  for (const auto& [tid, row] : rows_) {
    all.frames += row.open.size() + (row.without_stack ? 1 : 0);
    all.off_cpu += row.off_cpu ? 1 : 0;
  }
  return all;
}

}  // namespace gpuprof::importer
