// SPDX-License-Identifier: Apache-2.0
//
// Whether a process can be attached to, from what /proc says: a sentence for each reason why not.
//
// Context:  daemon | cli
#include "daemon/attach/process/checks.hpp"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "daemon/attach/inject.hpp"
#include "daemon/attach/process/loader.hpp"
#include "daemon/attach/process/thread_candidates.hpp"
#include "daemon/messages/attach_checks.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/io/files.hpp"
#include "support/text/text.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::chrono::milliseconds kPollPeriod{10};
constexpr int kMaxPolls = 50;
// For a moment between two programs there is neither a loader nor what it has brought.
constexpr int kPollsWithoutLoader = 3;
// A process that ends looks like one without its main thread until its last thread is gone.
constexpr int kPollsAtHeadless = 10;

/// The words behind `key:` in a status text.
std::vector<std::string> words_of(std::string_view text, std::string_view key) {
  for (const std::string& line : support::split(text, '\n')) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    std::string rest = line.substr(key.size() + 1);
    std::replace(rest.begin(), rest.end(), '\t', ' ');
    std::vector<std::string> words = support::split(rest, ' ');
    std::erase(words, "");
    return words;
  }
  return {};
}

unsigned number_of(const std::vector<std::string>& words, std::size_t which) {
  return which < words.size() ? static_cast<unsigned>(strtoul(words[which].c_str(), nullptr, 10))
                              : 0;
}

std::uint64_t mask_of(const std::vector<std::string>& words) {
  return words.empty() ? 0 : strtoull(words[0].c_str(), nullptr, 16);
}

}  // namespace

ProcStatus parse_status(std::string_view text) {
  ProcStatus status;
  const std::vector<std::string> state = words_of(text, "State");
  if (state.empty()) return status;
  status.there = true;
  status.state = state[0][0];
  const std::vector<std::string> name = words_of(text, "Name");
  if (!name.empty()) status.name = support::join(name, " ");
  status.process = static_cast<pid_t>(number_of(words_of(text, "Tgid"), 0));
  status.parent = static_cast<pid_t>(number_of(words_of(text, "PPid"), 0));
  status.tracer = static_cast<pid_t>(number_of(words_of(text, "TracerPid"), 0));
  status.seccomp = static_cast<int>(number_of(words_of(text, "Seccomp"), 0));
  const std::vector<std::string> users = words_of(text, "Uid");
  status.real_uid = number_of(users, 0);
  status.effective_uid = number_of(users, 1);
  status.saved_uid = number_of(users, 2);
  const bool no_memory = words_of(text, "VmSize").empty();
  // Newer kernels say so; on others all of them are children of number 2.
  constexpr pid_t kParentOfAll = 2;
  status.kernel = number_of(words_of(text, "Kthread"), 0) == 1 ||
                  (no_memory && (status.parent == kParentOfAll || status.process == kParentOfAll));
  status.ending = (no_memory && !status.kernel) || status.state == 'Z' || status.state == 'X';
  status.headless = status.state == 'Z' && number_of(words_of(text, "Threads"), 0) > 1;
  const std::vector<std::string> features = words_of(text, "x86_Thread_features");
  status.shadow_stack = std::find(features.begin(), features.end(), "shstk") != features.end();
  status.blocked = mask_of(words_of(text, "SigBlk"));
  status.caught = mask_of(words_of(text, "SigCgt"));
  status.pending = mask_of(words_of(text, "SigPnd")) | mask_of(words_of(text, "ShdPnd"));
  const std::vector<std::string> inner = words_of(text, "NSpid");
  if (!inner.empty()) status.inner_pid = inner.back();
  return status;
}

ProcStatus read_status(pid_t pid) {
  return parse_status(support::read_small_file(fmt::format("/proc/{}/status", pid)));
}

ProcStatus stable_status(pid_t pid) {
  ProcStatus status = read_status(pid);
  for (int turn = 0; status.headless && turn < kPollsAtHeadless; ++turn) {
    std::this_thread::sleep_for(kPollPeriod);
    status = read_status(pid);
  }
  return status;
}

std::string refusal_by_status(pid_t pid, const ProcStatus& status, const ProcStatus& tracer,
                              bool ignore_seccomp) {
  if (!status.there) return fmt::format(messages::attach_checks::kNoProcess, pid);
  if (status.process != pid)
    return fmt::format(messages::attach_checks::kIsThread, pid, status.process, status.process);
  if (status.headless)
    return fmt::format(messages::attach_checks::kMainThreadEnded, pid, status.name);
  if (status.ending) return fmt::format(messages::attach_checks::kIsEnding, pid, status.name);
  if (status.kernel) return fmt::format(messages::attach_checks::kIsKernelThread, pid, status.name);
  if (status.tracer != 0)
    return fmt::format(messages::attach_checks::kIsTraced, pid, status.name,
                       tracer.there ? tracer.process : status.tracer, tracer.name);
  if (status.state == 'T')
    return fmt::format(messages::attach_checks::kIsStopped, pid, status.name, pid);
  if (status.seccomp == 1)
    return fmt::format(messages::attach_checks::kStrictSeccomp, pid, status.name);
  if (status.seccomp == 2 && !ignore_seccomp)
    return fmt::format(messages::attach_checks::kSeccompFilter, pid, status.name);
  if (status.shadow_stack)
    return fmt::format(messages::attach_checks::kShadowStack, pid, status.name);
  return "";
}

std::string refusal_by_image(pid_t pid, const Maps& maps, int elf_class) {
  if (elf_class == ELFCLASS32) return fmt::format(messages::attach_checks::kIs32Bit, pid);
  bool glibc = false;
  for (const Mapping& mapping : maps) {
    if (is_musl(file_name(mapping))) return fmt::format(messages::attach_checks::kUsesMusl, pid);
    glibc = glibc || is_glibc(file_name(mapping));
  }
  return glibc ? "" : fmt::format(messages::attach_checks::kHasNoGlibc, pid);
}

std::string denial_message(pid_t pid, const PtraceDenial& denied) {
  if (denied.error == ESRCH || denied.error == ENOENT)
    return fmt::format(messages::attach_checks::kHasEnded, pid);
  if (denied.own_uid != 0 && denied.other_user)
    return fmt::format(messages::attach_checks::kOtherUser, pid);
  if (denied.yama == 3) return fmt::format(messages::attach_checks::kPtraceDisabled, pid);
  if (denied.own_uid != 0 && denied.own_by_root)
    return fmt::format(messages::attach_checks::kNotDumpable, pid);
  if (denied.own_uid != 0 && denied.yama == 2)
    return fmt::format(messages::attach_checks::kPtraceRootOnly, pid);
  if (denied.own_uid != 0 && denied.yama == 1)
    return fmt::format(messages::attach_checks::kPtraceChildrenOnly, pid);
  if (denied.own_uid != 0)
    return fmt::format(messages::attach_checks::kCannotTrace, pid, strerror(denied.error));
  return fmt::format(messages::attach_checks::kCannotTraceAsRoot, pid, strerror(denied.error));
}

PtraceDenial inspect_denial(pid_t pid, int error) {
  PtraceDenial denied;
  denied.error = error;
  denied.own_uid = geteuid();
  const ProcStatus status = read_status(pid);
  for (const unsigned uid : {status.real_uid, status.effective_uid, status.saved_uid})
    denied.other_user = denied.other_user || uid != denied.own_uid;
  struct stat about {};
  // The folder itself keeps its owner.
  const std::string file = fmt::format("/proc/{}/maps", pid);
  denied.own_by_root =
      stat(file.c_str(), &about) == 0 && about.st_uid == 0 && status.effective_uid != 0;
  denied.yama = atoi(support::read_small_file("/proc/sys/kernel/yama/ptrace_scope").c_str());
  return denied;
}

namespace {

/// After vfork: what is loaded into it would be in its parent, too.
bool is_in_memory_of(pid_t pid, pid_t parent) {
  const long order = syscall(SYS_kcmp, parent, pid, KCMP_VM, 0, 0);
  if (order >= 0) return order == 0;
  // It may be any of the parent's children: better none than the wrong one.
  return any_waits_for_child(parent);
}

/// Most children start their program at once.
support::Result<void> wait_until_on_its_own(pid_t pid) {
  for (int turn = 0; turn < kMaxPolls; ++turn) {
    const ProcStatus status = read_status(pid);
    if (status.parent <= 0 || !is_in_memory_of(pid, status.parent)) return {};
    std::this_thread::sleep_for(kPollPeriod);
  }
  return support::error(fmt::format(messages::attach_checks::kSharesMemory, pid));
}

/// A program that has just been started has not loaded everything yet.
support::Result<void> wait_until_loaded(pid_t pid, std::uint64_t until_ns) {
  for (int without_loader = 0;;) {
    const bool works = is_loader_busy(pid);
    const std::string why = refusal_by_image(pid, read_maps(pid), program_file(pid).elf_class);
    if (why.empty()) return {};
    without_loader = works ? 0 : without_loader + 1;
    if (without_loader > kPollsWithoutLoader) return support::error(why);
    if (works && base::mono_ns() >= until_ns) return loader_busy_error(pid);
    std::this_thread::sleep_for(kPollPeriod);
  }
}

}  // namespace

support::Result<void> may_attach(pid_t pid, bool ignore_seccomp) {
  return may_attach(pid, ignore_seccomp, base::mono_ns() + kAttachTimeoutNs);
}

support::Result<void> may_attach(pid_t pid, bool ignore_seccomp, std::uint64_t until_ns) {
  if (pid == getpid()) return support::error(messages::attach_checks::kIsGpuprof);
  const ProcStatus status = stable_status(pid);
  std::string why = refusal_by_status(pid, status, read_status(status.tracer), ignore_seccomp);
  if (!why.empty()) return support::error(why);
  const base::UniqueFd memory(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory) return support::error(denial_message(pid, inspect_denial(pid, errno)));
  GPUPROF_CHECK(wait_until_on_its_own(pid));
  auto loaded = wait_until_loaded(pid, until_ns);
  if (loaded) return loaded;
  // One that ended meanwhile has no libraries either.
  why = refusal_by_status(pid, stable_status(pid), {}, true);
  return why.empty() ? loaded : support::error(why);
}

}  // namespace gpuprof::attach
