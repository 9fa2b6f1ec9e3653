// SPDX-License-Identifier: Apache-2.0
//
// Which thread of a process is stopped for an injection.
//
// Context:  daemon | cli
#include "daemon/attach/process/thread_candidates.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "daemon/attach/process/library_file.hpp"
#include "support/io/files.hpp"
#include "support/process/procfs.hpp"
#include "support/text/text.hpp"

namespace gpuprof::attach {
namespace {

// Calls that a stop does not end early, whatever their options.
constexpr long kContinued[] = {
#ifdef SYS_poll
    SYS_poll,  SYS_select,
#endif
    SYS_futex, SYS_nanosleep, SYS_clock_nanosleep, SYS_ppoll, SYS_pselect6,
};

// Made with CLONE_VFORK, if the thread sleeps in it deeper than a signal reaches.
constexpr long kMakesChild[] = {
#ifdef SYS_vfork
    SYS_vfork,
#endif
    SYS_clone,
    SYS_clone3,
};

// Calls that wait for room and then go on with the rest.
constexpr long kSends[] = {SYS_write,   SYS_writev,   SYS_sendto,   SYS_sendmsg, SYS_sendmmsg,
                           SYS_pwritev, SYS_pwritev2, SYS_sendfile, SYS_splice,  SYS_vmsplice};

constexpr const char* kOwnThread = "gpuprof\n";

std::string folder_of(pid_t pid, pid_t tid) { return fmt::format("/proc/{}/task/{}/", pid, tid); }

char state_in(const std::string& folder) {
  return support::parse_process_stat(support::read_small_file(folder + "stat")).state;
}

bool holds(std::span<const long> calls, long number) {
  return std::find(calls.begin(), calls.end(), number) != calls.end();
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(
      opendir(fmt::format("/proc/{}/task", pid).c_str()), closedir);
  while (folder != nullptr) {
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) break;
    const int tid = atoi(entry->d_name);
    if (tid > 0) threads.push_back(tid);
  }
  return threads;
}

struct Ranked {
  int demerit;  // lower is better
  ThreadCandidate candidate;
};

/// Demerit below 0: not at all.
Ranked rank(pid_t pid, pid_t tid) {
  const std::string folder = folder_of(pid, tid);
  // Theirs may be called the same; ours is never the first, and never without the library.
  if (tid != pid && support::read_small_file(folder + "comm") == kOwnThread && has_library(pid))
    return {-1, {}};
  const char state = state_in(folder);
  if (state == 'Z' || state == 'X' || state == '?') return {-1, {}};
  if (state == 'D') return {6, {tid, 0}};
  const BlockedSyscall call = parse_syscall(support::read_small_file(folder + "syscall"));
  if (state == 'S' && call.in_transfer) return {5, {tid, call.stack_pointer, true}};
  if (state == 'S' && call.number >= 0)
    return {holds(kContinued, call.number) ? 0 : 1, {tid, call.stack_pointer}};
  return {tid == pid ? 4 : 3, {tid, 0}};
}

}  // namespace

// number, six arguments, stack pointer, program counter; `running` or `-1 ...` where it is in no
// call
BlockedSyscall parse_syscall(std::string_view line) {
  const std::vector<std::string> words = support::split(line, ' ');
  constexpr std::size_t kNumber = 0, kMessageFlags = 3, kFlags = 4, kStackPointer = 7;
  BlockedSyscall call;
  if (words.size() <= kStackPointer) return call;
  call.number = strtol(words[kNumber].c_str(), nullptr, 10);
  call.stack_pointer = strtoull(words[kStackPointer].c_str(), nullptr, 16);
  const std::size_t flags = call.number == SYS_recvfrom  ? kFlags
                            : call.number == SYS_recvmsg ? kMessageFlags
                                                         : kNumber;
  call.in_transfer =
      holds(kSends, call.number) ||
      (flags != kNumber && (strtoull(words[flags].c_str(), nullptr, 16) & MSG_WAITALL) != 0);
  return call;
}

bool waits_for_child(pid_t pid, pid_t tid) {
  const std::string folder = folder_of(pid, tid);
  return state_in(folder) == 'D' &&
         holds(kMakesChild, parse_syscall(support::read_small_file(folder + "syscall")).number);
}

bool any_waits_for_child(pid_t pid) {
  const std::vector<pid_t> threads = threads_of(pid);
  return std::any_of(threads.begin(), threads.end(),
                     [pid](pid_t tid) { return waits_for_child(pid, tid); });
}

std::vector<ThreadCandidate> threads_by_stop_cost(pid_t pid) {
  std::vector<Ranked> ranked;
  for (const pid_t tid : threads_of(pid)) {
    const Ranked one = rank(pid, tid);
    if (one.demerit >= 0) ranked.push_back(one);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.demerit < b.demerit; });
  std::vector<ThreadCandidate> threads;
  for (const Ranked& one : ranked) threads.push_back(one.candidate);
  return threads;
}

}  // namespace gpuprof::attach
