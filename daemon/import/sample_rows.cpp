// SPDX-License-Identifier: Apache-2.0
//
// SampleRows.
//
// Context:  cli through daemon/api
#include "daemon/import/sample_rows.hpp"

namespace gpuprof::importer {

void SampleRows::change(std::uint32_t tid, bool begins, bool blocked, std::string_view name,
                        std::int64_t ts_ns) {
  if (rows_.size() >= kMaxRows && !rows_.contains(tid)) return;
  Row& row = rows_[tid];
  const bool open = !row.open.empty() || row.blocked != 0 || row.bare;
  if (open && ts_ns > row.since_ns)
    take_(tid, row.since_ns, ts_ns,
          {row.open.empty() ? 0 : row.open.back(), row.blocked != 0 ? 1U : 0U});
  row.since_ns = ts_ns;
  if (blocked) {
    row.blocked = begins ? 1 : 0;
  } else if (name == "(no stack)") {
    row.bare = begins;
  } else if (begins && row.open.size() < kMaxOpen) {
    const Node outer = row.open.empty() ? 0 : row.open.back();
    row.open.push_back(names_.ways.enter(outer, {names_.texts.intern(name), 0}));
  } else if (!begins && !row.open.empty()) {
    row.open.pop_back();
  }
}

}  // namespace gpuprof::importer
