// SPDX-License-Identifier: Apache-2.0
//
// The worker's user and groups: those of the program, also after it has dropped privileges.
//
// Context:  worker
// Promises: only ever follows; a credential the program has given up is given up here within half
//           a second
//
// Why: to the kernel credentials belong to a thread. glibc tells the threads it knows by a signal;
// ours it cannot reach (inject/hot/worker_resume.cpp).
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "inject/agent/agent.hpp"
#include "inject/agent/core.hpp"
#include "inject/hot/state.hpp"

namespace gpuprof::agent {

namespace {

constexpr std::uint64_t kLookNs = 250'000'000;
constexpr int kMostGroups = 128;

struct Ids {
  unsigned real, effective, saved;
};

// "Uid:\treal\teffective\tsaved\tfs".
bool read_ids(const char* text, const char* key, Ids* ids) {
  const char* at = strstr(text, key);
  if (at == nullptr) return false;
  char* end = nullptr;
  ids->real = static_cast<unsigned>(strtoul(at + strlen(key), &end, 10));
  ids->effective = static_cast<unsigned>(strtoul(end, &end, 10));
  ids->saved = static_cast<unsigned>(strtoul(end, &end, 10));
  return true;
}

bool same(const Ids& a, const Ids& b) {
  return a.real == b.real && a.effective == b.effective && a.saved == b.saved;
}

void follow_groups(const char* text) {
  const char* at = strstr(text, "\nGroups:\t");
  if (at == nullptr) return;
  at += 9;
  gid_t groups[kMostGroups];
  int count = 0;
  while (count < kMostGroups && *at >= '0' && *at <= '9') {
    char* end = nullptr;
    groups[count++] = static_cast<gid_t>(strtoul(at, &end, 10));
    at = *end == ' ' ? end + 1 : end;
  }
  ::syscall(SYS_setgroups, count, groups);
}

// The kernel ends a process with its last thread, and that must not be one of ours. glibc has ended
// it before this unless its count of threads could not be found, or the program's threads are not
// its own (hot/thread_count.hpp).
void end_if_left_alone(const char* text) {
  const char* state = strstr(text, "\nState:\t");
  const char* threads = strstr(text, "\nThreads:\t");
  if (state == nullptr || threads == nullptr || state[8] != 'Z') return;
  const long ours = 1 + (hot::g_state.helper_tid.load(std::memory_order_relaxed) != 0 ? 1 : 0);
  const long all = strtol(threads + 10, nullptr, 10);
  if (all > ours + 1) return;  // the main thread counts until the process ends
  before_exit();
  ::syscall(SYS_exit_group, 0);
}

}  // namespace

void follow_credentials() {
  static std::uint64_t looked_ns = 0;
  const std::uint64_t now_ns = base::mono_ns();
  if (now_ns - looked_ns < kLookNs) return;
  looked_ns = now_ns;
  char text[4096];
  const base::UniqueFd fd(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  const ssize_t bytes = fd ? ::read(fd.get(), text, sizeof text - 1) : 0;
  if (bytes <= 0) return;
  text[bytes] = '\0';
  end_if_left_alone(text);
  Ids user{}, group{}, own_user{}, own_group{};
  if (!read_ids(text, "\nUid:\t", &user) || !read_ids(text, "\nGid:\t", &group)) return;
  ::syscall(SYS_getresuid, &own_user.real, &own_user.effective, &own_user.saved);
  ::syscall(SYS_getresgid, &own_group.real, &own_group.effective, &own_group.saved);
  if (same(user, own_user) && same(group, own_group)) return;
  follow_groups(text);
  ::syscall(SYS_setresgid, group.real, group.effective, group.saved);
  ::syscall(SYS_setresuid, user.real, user.effective, user.saved);
}

}  // namespace gpuprof::agent
