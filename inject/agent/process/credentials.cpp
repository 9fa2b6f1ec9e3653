// SPDX-License-Identifier: Apache-2.0
//
// The worker's user and groups: those of the program, also after it has dropped privileges.
//
// Context:  worker
// Promises: only ever follows; what the program gives up by a call of the C library is given up
//           here at once, else within half a second of recording, ten seconds while it waits
//
// Why: to the kernel credentials belong to a thread. glibc tells the threads it knows by a signal;
// ours it cannot reach (inject/hot/worker/worker_resume.cpp).
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
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
constexpr int kMaxGroups = 128;

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
  gid_t groups[kMaxGroups];
  int count = 0;
  while (count < kMaxGroups && *at >= '0' && *at <= '9') {
    char* end = nullptr;
    groups[count++] = static_cast<gid_t>(strtoul(at, &end, 10));
    at = *end == ' ' ? end + 1 : end;
  }
  ::syscall(SYS_setgroups, count, groups);
}

std::uint64_t hex_after(const char* text, const char* key) {
  const char* at = strstr(text, key);
  return at == nullptr ? 0 : strtoull(at + strlen(key), nullptr, 16);
}

// Only ever less: what the main thread has in front of us may have come from elsewhere.
void follow_capabilities(const char* text) {
  const std::uint64_t effective = hex_after(text, "\nCapEff:\t");
  const std::uint64_t permitted = hex_after(text, "\nCapPrm:\t");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct own[2] = {};
  if (::syscall(SYS_capget, &header, own) != 0) return;
  bool less = false;
  for (int i = 0; i < 2; ++i) {
    const auto wanted = static_cast<std::uint32_t>(permitted >> (32 * i));
    const auto in_force = static_cast<std::uint32_t>(effective >> (32 * i));
    less = less || (own[i].permitted & ~wanted) != 0 || (own[i].effective & ~in_force) != 0;
    own[i].permitted &= wanted;
    own[i].effective &= in_force;
    own[i].inheritable &= wanted;
  }
  if (less) ::syscall(SYS_capset, &header, own);
}

void follow_ids(const char* text) {
  Ids user{}, group{}, own_user{}, own_group{};
  if (!read_ids(text, "\nUid:\t", &user) || !read_ids(text, "\nGid:\t", &group)) return;
  ::syscall(SYS_getresuid, &own_user.real, &own_user.effective, &own_user.saved);
  ::syscall(SYS_getresgid, &own_group.real, &own_group.effective, &own_group.saved);
  if (same(user, own_user) && same(group, own_group)) return;
  follow_groups(text);
  ::syscall(SYS_setresgid, group.real, group.effective, group.saved);
  ::syscall(SYS_setresuid, user.real, user.effective, user.saved);
}

}  // namespace

void credentials_changed() {
  if (g_agent.shut_down.load(std::memory_order_relaxed)) return;
  const int saved = errno;
  if (g_agent.owner_pid.load(std::memory_order_acquire) == getpid()) {
    g_agent.identity_changed.store(true, std::memory_order_relaxed);
    hot::wake_worker();
  }
  errno = saved;
}

void sync_credentials() {
  static std::uint64_t looked_ns = 0;
  const std::uint64_t now_ns = base::mono_ns();
  const bool reported = g_agent.identity_changed.exchange(false, std::memory_order_relaxed);
  if (!reported && !thread_exit_announced() && now_ns - looked_ns < kLookNs) return;
  looked_ns = now_ns;
  char text[4096];
  const base::UniqueFd fd(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  const ssize_t bytes = fd ? ::read(fd.get(), text, sizeof text - 1) : 0;
  if (bytes <= 0) return;
  text[bytes] = '\0';
  exit_if_only_own_threads(text);
  shut_down_if_filtered(text);
  follow_ids(text);
  follow_capabilities(text);
}

}  // namespace gpuprof::agent
