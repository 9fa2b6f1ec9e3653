// SPDX-License-Identifier: Apache-2.0
//
// Looks for tracers and filters.
//
// Context:  worker
// Owns:     what was said
#include "inject/sample/restrictions.hpp"

#include <errno.h>
#include <unistd.h>

#include "inject/hot/outbox.hpp"
#include "inject/messages/sampling.hpp"
#include "inject/sample/proc_files.hpp"
#include "inject/sample/threads/threads.hpp"

namespace gpuprof::sample {

namespace {

// LeakSanitizer and crash handlers trace a process for a moment.
constexpr std::uint32_t kTracedScans = 3;

struct Restrictions {
  bool known = false;
  std::uint64_t seccomp_mode = 0, filters = 0;
  std::uint32_t traced_scans = 0;
  bool reported_traced = false, reported_filtered = false, reported_lacking = false,
       reported_hidden = false;
};
constinit Restrictions g_obstacles;

// The first thread's number is the process's, also when it has ended. A scan may lack it for want
// of a descriptor, too.
bool threads_are_hidden() {
  bool seen = false;
  for_each_thread(
      [](ThreadEntry& entry, void* found) {
        if (entry.tid == getpid()) *static_cast<bool*>(found) = true;
      },
      &seen);
  char path[64];
  task_path(path, sizeof path, getpid(), "stat");
  return !seen && access(path, F_OK) != 0 && errno == ENOENT;
}

}  // namespace

void save_initial_filters() {
  ThreadStatus status;
  if (g_obstacles.known || !read_own_status(&status)) return;
  g_obstacles.known = true;
  g_obstacles.seccomp_mode = status.seccomp_mode;
  g_obstacles.filters = status.filters;
}

bool has_new_filter(const ThreadStatus& status) {
  return g_obstacles.known &&
         (status.seccomp_mode != g_obstacles.seccomp_mode || status.filters > g_obstacles.filters);
}

// Debuggers trace all threads, so the worker's own file will do.
bool is_traced() {
  ThreadStatus status;
  return read_own_status(&status) && status.tracer != 0;
}

void report_restrictions(bool filtered, bool traced) {
  const auto say = [](const char* text) {
    hot::send_notice(wire::Feature::kNative, wire::NoticeLevel::kMissing, 0, text);
  };
  if (!g_obstacles.reported_hidden && threads_are_hidden()) {
    g_obstacles.reported_hidden = true;
    say(messages::sampling::kNoProc);
  }
  g_obstacles.traced_scans = traced ? g_obstacles.traced_scans + 1 : 0;
  if (g_obstacles.traced_scans == kTracedScans && !g_obstacles.reported_traced) {
    g_obstacles.reported_traced = true;
    say(messages::sampling::kTraced);
  }
  if (filtered && !g_obstacles.reported_filtered) {
    g_obstacles.reported_filtered = true;
    say(messages::sampling::kFilteredThreads);
  }
}

void reset_restrictions() {
  g_obstacles.traced_scans = 0;
  g_obstacles.reported_traced = g_obstacles.reported_filtered = g_obstacles.reported_lacking =
      g_obstacles.reported_hidden = false;
}

void report_missing_alt_stacks(bool some) {
  if (!some || g_obstacles.reported_lacking) return;
  g_obstacles.reported_lacking = true;
  hot::send_notice(wire::Feature::kNative, wire::NoticeLevel::kMissing, 0,
                   messages::sampling::kNoAlternateStack);
}

}  // namespace gpuprof::sample
