// SPDX-License-Identifier: Apache-2.0
//
// Reads the kernel's list of mappings for executable memory that is of no file, or was mapped from
// a module's file by somebody else than the loader.
//
// Context:  worker
// Owns:     when it was read last
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/jit_code.hpp"
#include "gpuprof/wire/messages.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/sample/jit/jit_code.hpp"
#include "inject/sample/jit/jit_code_table.hpp"
#include "inject/sample/modules/module_report.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/proc_files.hpp"
#include "inject/sample/unwind/unwind.hpp"

namespace gpuprof::sample {

namespace {

constexpr std::uint64_t kSoonNs = 5'000'000, kLatestNs = 5'000'000'000;
// Reading takes at most one in so many parts of a processor. Not of the time: where more wants to
// run than there are processors, most of that is others'.
constexpr std::uint64_t kShare = 50;

// A file's code may be mapped once more, by other hands than the loader's (V8's built-in
// functions).
struct Origin {
  const SnapshotModule* module;  // null: no file's
  std::uint64_t offset;          // in the file
};

struct Ranges {
  CodeRange ranges[JitCodeTable::kMaxRanges]{};
  Origin origins[JitCodeTable::kMaxRanges]{};
  std::uint32_t count = 0;
  char program[4096]{};  // its path
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

// The module that was loaded from this file. What is being loaded is none yet.
const SnapshotModule* module_of_file(const char* path) {
  const Snapshot* snapshot = current_snapshot();
  for (std::uint32_t i = 0; snapshot != nullptr && i < snapshot->module_count; ++i) {
    const char* name = snapshot->modules[i].info.dlpi_name;
    if (strcmp(name[0] == '\0' ? g_scan.program : name, path) == 0) return &snapshot->modules[i];
  }
  return nullptr;
}

// The loader's segments need not begin with a page.
bool holds_a_module(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t inside = std::min(begin + 4095, end - 1);
  for (const std::uint64_t at : {begin, inside, end - 1})
    if (find_module(current_snapshot(), at) != nullptr) return true;
  return false;
}

void take(std::uint64_t begin, std::uint64_t end, const Origin& origin) {
  const std::uint32_t count = g_scan.count;
  if (holds_a_module(begin, end)) return;
  if (count != 0 && g_scan.ranges[count - 1].end == begin && origin.module == nullptr &&
      g_scan.origins[count - 1].module == nullptr) {
    g_scan.ranges[count - 1].end = end;
    return;
  }
  if (count == JitCodeTable::kMaxRanges) return;
  g_scan.ranges[count] = {begin, end};
  g_scan.origins[count] = origin;
  ++g_scan.count;
}

// begin-end perms offset dev inode path
bool scan_maps_line(const char* line, void*) {
  std::uint64_t begin = 0, end = 0;
  const char* at = parse_hex(line, &begin);
  if (*at != '-') return true;
  at = parse_hex(at + 1, &end);
  if (at[0] != ' ' || strnlen(at, 6) < 6 || at[3] != 'x') return true;
  std::uint64_t offset = 0;
  at = parse_hex(at + 6, &offset);
  if (*at != ' ' || (at = strchr(at + 1, ' ')) == nullptr) return true;  // behind the device
  while (*at == ' ') ++at;                                               // the inode
  at += strcspn(at, " ");
  while (*at == ' ') ++at;
  const bool generated = of_no_file(at);
  const SnapshotModule* module = generated ? nullptr : module_of_file(at);
  if (generated || module != nullptr) take(begin, end, {module, offset});
  return true;
}

bool known(const CodeRange& range) {
  for (std::uint32_t i = 0; i < g_jit_code.size(); ++i) {
    const CodeRange one = g_jit_code.at(i);
    if (one.begin <= range.begin && range.end <= one.end) return true;
  }
  return false;
}

// Names come by address: the range tells only that there is no file to look into.
void tell(const CodeRange& range, const Origin& origin, std::uint64_t now_ns) {
  if (origin.module != nullptr)
    return report_remapped_code(*origin.module, range.begin, range.end, origin.offset, now_ns);
  if (hot::g_outbox.module == nullptr) return;
  wire::Module message{};
  message.start = range.begin;
  message.end = range.end;
  message.seen_ns = now_ns;
  message.path_bytes = sizeof base::kJitCodePath - 1;
  hot::g_outbox.module(message, "", base::kJitCodePath);
}

}  // namespace

void scan_jit_code(std::uint64_t now_ns) {
  if (g_unknown_pc.load(std::memory_order_relaxed) == 0 || now_ns < g_next_ns) return;
  g_unknown_pc.store(0, std::memory_order_relaxed);
  g_scan.count = 0;
  const std::uint64_t begun_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const ssize_t bytes = readlink("/proc/self/exe", g_scan.program, sizeof g_scan.program - 1);
  g_scan.program[bytes > 0 ? bytes : 0] = '\0';
  for_each_mapping(scan_maps_line, nullptr);
  bool some_new = false;
  for (std::uint32_t i = 0; i < g_scan.count; ++i) {
    if (known(g_scan.ranges[i])) continue;
    some_new = true;
    tell(g_scan.ranges[i], g_scan.origins[i], now_ns);
  }
  const std::uint64_t spent_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
  g_pause_ns = some_new ? kSoonNs : std::min(2 * g_pause_ns, kLatestNs);
  g_next_ns = now_ns + std::max(g_pause_ns, kShare * spent_ns);
  if (!some_new && g_scan.count == g_jit_code.size()) return;
  g_jit_code.write(g_scan.ranges, g_scan.count);
  unwind_invalidate();
}

void clear_jit_code() {
  g_jit_code.write(nullptr, 0);
  g_unknown_pc.store(0, std::memory_order_relaxed);
  g_next_ns = 0;
  g_pause_ns = kSoonNs;
}

}  // namespace gpuprof::sample
