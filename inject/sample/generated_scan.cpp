// SPDX-License-Identifier: Apache-2.0
//
// Reads the kernel's list of mappings for executable memory of no file.
//
// Context:  worker
// Owns:     when it was read last
#include <string.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/generated_code.hpp"
#include "gpuprof/wire/control.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/sample/generated_code.hpp"
#include "inject/sample/generated_table.hpp"
#include "inject/sample/phdr_snapshot.hpp"
#include "inject/sample/proc_files.hpp"
#include "inject/sample/unwind.hpp"

namespace gpuprof::sample {

namespace {

constexpr std::uint64_t kSoonNs = 5'000'000, kLatestNs = 5'000'000'000;
// Reading takes at most so much of the time.
constexpr std::uint64_t kShare = 50;

struct Ranges {
  CodeRange ranges[GeneratedTable::kMaxRanges]{};
  std::uint32_t count = 0;
};
constinit Ranges g_scan;
constinit std::uint64_t g_next_ns = 0, g_pause_ns = kSoonNs;

// Anonymous, or a file without a name that two mappings share, one to write and one to run.
bool of_no_file(const char* path) {
  constexpr const char kAnonymous[] = "[anon", kMemory[] = "/memfd:", kZero[] = "/dev/zero",
                       kShared[] = "/dev/shm/", kSystemV[] = "/SYSV";
  if (path[0] == '\0') return true;
  for (const char* begin : {kAnonymous, kMemory, kZero, kShared, kSystemV})
    if (strncmp(path, begin, strlen(begin)) == 0) return true;
  return false;
}

void take(std::uint64_t begin, std::uint64_t end) {
  if (find_module(current_snapshot(), begin) != nullptr) return;
  if (g_scan.count != 0 && g_scan.ranges[g_scan.count - 1].end == begin) {
    g_scan.ranges[g_scan.count - 1].end = end;
    return;
  }
  if (g_scan.count < GeneratedTable::kMaxRanges) g_scan.ranges[g_scan.count++] = {begin, end};
}

// begin-end perms offset dev inode path
bool look_at_line(const char* line, void*) {
  std::uint64_t begin = 0, end = 0;
  const char* at = parse_hex(line, &begin);
  if (*at != '-') return true;
  at = parse_hex(at + 1, &end);
  if (at[0] != ' ' || strnlen(at, 6) < 6 || at[3] != 'x') return true;
  for (int fields = 0; fields < 3 && at != nullptr; ++fields) at = strchr(at + 1, ' ');
  if (at == nullptr) return true;
  while (*at == ' ') ++at;  // the inode
  at += strcspn(at, " ");
  while (*at == ' ') ++at;
  if (of_no_file(at)) take(begin, end);
  return true;
}

bool known(const CodeRange& range) {
  for (std::uint32_t i = 0; i < g_generated.size(); ++i) {
    const CodeRange one = g_generated.at(i);
    if (one.begin <= range.begin && range.end <= one.end) return true;
  }
  return false;
}

// Names come by address: the range tells only that there is no file to look into.
void tell(const CodeRange& range, std::uint64_t now_ns) {
  if (hot::g_outbox.module == nullptr) return;
  wire::Module message{};
  message.start = range.begin;
  message.end = range.end;
  message.seen_ns = now_ns;
  message.path_bytes = sizeof base::kGeneratedCode - 1;
  hot::g_outbox.module(message, "", base::kGeneratedCode);
}

}  // namespace

void refresh_generated_code(std::uint64_t now_ns) {
  if (g_unknown_code.load(std::memory_order_relaxed) == 0 || now_ns < g_next_ns) return;
  g_unknown_code.store(0, std::memory_order_relaxed);
  g_scan.count = 0;
  const std::uint64_t begun_ns = base::mono_ns();
  for_each_mapping(look_at_line, nullptr);
  bool some_new = false;
  for (std::uint32_t i = 0; i < g_scan.count; ++i) {
    if (known(g_scan.ranges[i])) continue;
    some_new = true;
    tell(g_scan.ranges[i], now_ns);
  }
  const std::uint64_t spent_ns = base::mono_ns() - begun_ns;
  g_pause_ns = some_new ? kSoonNs : std::min(2 * g_pause_ns, kLatestNs);
  g_next_ns = now_ns + std::max(g_pause_ns, kShare * spent_ns);
  if (!some_new && g_scan.count == g_generated.size()) return;
  g_generated.write(g_scan.ranges, g_scan.count);
  unwind_forget();
}

void forget_generated_code() {
  g_generated.write(nullptr, 0);
  g_unknown_code.store(0, std::memory_order_relaxed);
  g_next_ns = 0;
  g_pause_ns = kSoonNs;
}

}  // namespace gpuprof::sample
