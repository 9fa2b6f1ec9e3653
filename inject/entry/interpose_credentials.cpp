// SPDX-License-Identifier: Apache-2.0
//
// The program changes its user, groups or capabilities: the worker thread, to which the C library
// cannot pass that on, follows at once.
//
// Context:  boundary
// Promises: result and errno are the C library's
//
// Why all are looked up early: a forked child may call them while another thread held the loader's
// lock.
#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>

#include "inject/agent/agent.hpp"
#include "inject/modules/pinned_module.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum class Call : unsigned {
  kUser,
  kGroup,
  kEffectiveUser,
  kEffectiveGroup,
  kUsers,
  kGroups,
  kThreeUsers,
  kThreeGroups,
  kOtherGroups,
  kCapabilities,
};
constexpr const char* kNames[] = {"setuid",   "setgid",    "seteuid",   "setegid",   "setreuid",
                                  "setregid", "setresuid", "setresgid", "setgroups", "capset"};
constinit std::atomic<void*> g_real[sizeof kNames / sizeof *kNames] = {};

__attribute__((constructor)) void resolve_symbols() {
  for (unsigned i = 0; i < sizeof kNames / sizeof *kNames; ++i)
    g_real[i].store(gpuprof::modules::next_symbol(kNames[i]), std::memory_order_relaxed);
}

void* real(Call call) {
  const auto index = static_cast<unsigned>(call);
  void* found = g_real[index].load(std::memory_order_relaxed);
  // A constructor of another library may come before ours.
  return found != nullptr ? found : gpuprof::modules::next_symbol(kNames[index]);
}

template <typename... Arguments>
int pass_on(Call call, Arguments... arguments) {
  void* function = real(call);
  if (function == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  const int result = reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
  if (result == 0) gpuprof::agent::credentials_changed();
  return result;
}

}  // namespace

GPUPROF_EXPORT int setuid(uid_t user) noexcept { return pass_on(Call::kUser, user); }
GPUPROF_EXPORT int setgid(gid_t group) noexcept { return pass_on(Call::kGroup, group); }
GPUPROF_EXPORT int seteuid(uid_t user) noexcept { return pass_on(Call::kEffectiveUser, user); }
GPUPROF_EXPORT int setegid(gid_t group) noexcept { return pass_on(Call::kEffectiveGroup, group); }
GPUPROF_EXPORT int setreuid(uid_t user, uid_t effective) noexcept {
  return pass_on(Call::kUsers, user, effective);
}
GPUPROF_EXPORT int setregid(gid_t group, gid_t effective) noexcept {
  return pass_on(Call::kGroups, group, effective);
}
GPUPROF_EXPORT int setresuid(uid_t user, uid_t effective, uid_t saved) noexcept {
  return pass_on(Call::kThreeUsers, user, effective, saved);
}
GPUPROF_EXPORT int setresgid(gid_t group, gid_t effective, gid_t saved) noexcept {
  return pass_on(Call::kThreeGroups, group, effective, saved);
}
GPUPROF_EXPORT int setgroups(size_t count, const gid_t* groups) noexcept {
  return pass_on(Call::kOtherGroups, count, groups);
}
// libcap's declaration is not part of the C library.
GPUPROF_EXPORT int capset(void* header, const void* data) noexcept {
  return pass_on(Call::kCapabilities, header, data);
}
