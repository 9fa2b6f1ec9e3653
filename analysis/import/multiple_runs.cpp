// SPDX-License-Identifier: Apache-2.0
//
// multiple_runs_message().
//
// Context:  cli through analysis/commands
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/import/file_diagnostics.hpp"
#include "analysis/import/time/file_alignment.hpp"
#include "analysis/messages/import_events.hpp"

namespace gpuprof::importer {
namespace {

/// Windows count from 0 in each recording, and are the same for all of its processes.
struct Recording {
  std::string first;  // file
  std::int64_t to_ns = 0;
  std::set<std::uint32_t> pids;
};

using Recordings = std::vector<Recording>;

/// Of files in the order of their begin.
void add(Recordings& all, const ParsedFile& file) {
  const std::uint32_t pid = file.content->head.pid;
  const bool same = !all.empty() && (file.from_ns < all.back().to_ns ||
                                     // Recorded again: windows of one process.
                                     all.back().pids.contains(pid));
  if (!same) all.push_back({file.path, 0, {}});
  all.back().to_ns = std::max(all.back().to_ns, file.to_ns);
  all.back().pids.insert(pid);
}

}  // namespace

std::string multiple_runs_message(const std::vector<ParsedFile>& files) {
  std::map<std::string, Recordings> of_host;  // a job has one on each
  for (const ParsedFile& file : files)
    if (file.content->head.written_by_gpuprof && file.content->head.window.index == 0)
      add(of_host[file.content->head.host], file);
  Recordings most;
  for (const auto& [host, all] : of_host)
    if (all.size() > most.size()) most = all;
  if (most.size() < 2) return {};
  return fmt::format(messages::import_events::kSeveralRecordings, most.size(), most[0].first,
                     most[1].first);
}

}  // namespace gpuprof::importer
