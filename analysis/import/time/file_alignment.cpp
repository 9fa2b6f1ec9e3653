// SPDX-License-Identifier: Apache-2.0
//
// align_files().
//
// Context:  cli through analysis/commands
#include "analysis/import/time/file_alignment.hpp"

#include <algorithm>

namespace gpuprof::importer {
namespace {

/// gpuprof's files begin so long before their window, where the machine ran as long.
constexpr std::uint64_t kLeadNs = 1'000'000;
/// No session begins at 0.
constexpr std::int64_t kRoomNs = 1'000'000'000;

std::int64_t lead_of(const TraceMetadata& head) {
  return static_cast<std::int64_t>(std::min(head.window.start_ns, kLeadNs));
}

bool has_window(const TraceMetadata& head) {
  return head.written_by_gpuprof && head.window.duration_ns != 0;
}

void find_times(ParsedFile& file) {
  const FileContent& content = *file.content;
  const TraceMetadata& head = content.head;
  file.base_ns =
      head.base_ns && *head.base_ns >= 0 && *head.base_ns <= kLatestNs ? *head.base_ns : 0;
  file.from_ns = file.base_ns + content.first_ns;
  file.to_ns = file.base_ns + content.last_ns + 1;
  if (!has_window(head) || head.window.duration_ns > static_cast<std::uint64_t>(kLatestNs)) return;
  file.from_ns = file.base_ns + lead_of(head);
  file.to_ns = file.from_ns + static_cast<std::int64_t>(head.window.duration_ns);
}

/// gpuprof's own line where a file tells it, so that times are those of the spool.
std::int64_t find_line(const std::vector<ParsedFile>& files) {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (const ParsedFile& file : files)
    first_ns = std::min({first_ns, file.base_ns + file.content->first_ns, file.from_ns});
  for (const ParsedFile& file : files) {
    const TraceMetadata& head = file.content->head;
    if (!head.written_by_gpuprof || head.window.start_ns > static_cast<std::uint64_t>(kLatestNs))
      continue;
    const std::int64_t line =
        file.base_ns - (static_cast<std::int64_t>(head.window.start_ns) - lead_of(head));
    if (first_ns - line > 0) return line;
  }
  return first_ns - kRoomNs;
}

model::Window window_of(const ParsedFile& file, std::int64_t line) {
  const TraceMetadata& head = file.content->head;
  model::Window window;
  window.start_ns = static_cast<std::uint64_t>(file.from_ns - line);
  window.end_ns = static_cast<std::uint64_t>(file.to_ns - line);
  window.why = has_window(head) ? head.window.why : "whole trace";
  window.first_label = head.window.first_label;
  if (!file.content->steps_known) return window;
  window.first_step = head.window.first_label - file.content->label_minus_number;
  window.steps = head.window.steps;
  return window;
}

}  // namespace

bool overlap(std::int64_t from_a, std::int64_t to_a, std::int64_t from_b, std::int64_t to_b) {
  const std::int64_t common = std::min(to_a, to_b) - std::max(from_a, from_b);
  return common > 0 && common * 2 > std::min(to_a - from_a, to_b - from_b);
}

// Windows with a time in common would both draw what lies in it. gpuprof's own are each of another
// process then, and tell their steps.
bool are_one_window(const ParsedFile& last, std::int64_t from_ns, std::int64_t to_ns,
                    const ParsedFile& file) {
  if (overlap(from_ns, to_ns, file.from_ns, file.to_ns)) return true;
  return !last.content->head.written_by_gpuprof && !file.content->head.written_by_gpuprof &&
         file.from_ns < to_ns;
}

SessionTimeline align_files(std::vector<ParsedFile>& files) {
  SessionTimeline line;
  for (ParsedFile& file : files) find_times(file);
  std::stable_sort(files.begin(), files.end(),
                   [](const ParsedFile& a, const ParsedFile& b) { return a.from_ns < b.from_ns; });
  const std::int64_t zero = find_line(files);
  line.real_minus_session_ns = zero;
  std::int64_t from_ns = 0, to_ns = 0;
  const ParsedFile* last = nullptr;
  for (ParsedFile& file : files) {
    const bool same = last != nullptr && are_one_window(*last, from_ns, to_ns, file);
    last = &file;
    if (same) {
      to_ns = std::max(to_ns, file.to_ns);
      line.windows.back().end_ns = static_cast<std::uint64_t>(to_ns - zero);
    } else {
      from_ns = file.from_ns;
      to_ns = file.to_ns;
      line.windows.push_back(window_of(file, zero));
    }
    file.window = line.windows.size() - 1;
  }
  for (std::size_t i = 0; i < line.windows.size(); ++i) {
    model::Window& window = line.windows[i];
    window.index = static_cast<std::uint32_t>(i);
    const std::int64_t real_ns = static_cast<std::int64_t>(window.start_ns) + zero;
    window.stamp_real_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(real_ns, 0));
    window.settled_ns = i + 1 < line.windows.size() ? line.windows[i + 1].start_ns : ~0ULL;
  }
  return line;
}

}  // namespace gpuprof::importer
