// SPDX-License-Identifier: Apache-2.0
//
// Tells a mask of the thread's own from one that a waiting call put in its place.
//
// Context:  worker
// Owns:     nothing
//
// The kernel shows the mask in force. Of a thread that blocks all signals and unblocks them only
// while it waits, that is the empty one at nearly every look.
#include "inject/sample/signals/mask_check.hpp"

#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "inject/sample/proc_files.hpp"
#include "inject/sample/signals/kernel_sigaction.hpp"

namespace gpuprof::sample {

namespace {

struct WaitingCall {
  std::uint64_t number;
  int mask_argument;  // null there: the thread's own mask stays; negative: it never does
};
// io_uring_enter and io_pgetevents have masks, too; nobody was seen to use them.
constexpr WaitingCall kWaitingCalls[] = {
    {SYS_ppoll, 3},          {SYS_pselect6, 5},
    {SYS_epoll_pwait, 4},    {441, 4},  // epoll_pwait2, the same on every processor
    {SYS_rt_sigsuspend, -1},
};

struct CallLine {
  std::uint64_t number = 0;
  std::uint64_t arguments[6] = {};
};

// "NR A0 … A5 SP PC"; "running" and "-1 SP PC" are no calls.
bool parse_call(const char* line, CallLine* call) {
  if (line[0] < '0' || line[0] > '9') return false;
  const char* at = parse_decimal(line, &call->number);
  for (std::uint64_t& argument : call->arguments) {
    if (*at != ' ') return false;
    at = parse_hex(at + 1, &argument);
  }
  return true;
}

bool has_another_mask(const CallLine& call) {
  for (const WaitingCall& waiting : kWaitingCalls)
    if (waiting.number == call.number)
      return waiting.mask_argument < 0 || call.arguments[waiting.mask_argument] != 0;
  return false;
}

// The thread may be gone, and its stack with it.
bool waits_for(const CallLine& call, int signal) {
  std::uint64_t set = 0;
  const iovec to{&set, sizeof set};
  const iovec from{reinterpret_cast<void*>(call.arguments[0]), sizeof set};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof set &&
         (set & signal_bit(signal)) != 0;
}

}  // namespace

MaskCheck classify_mask(const char* line, bool blocked, int signal) {
  CallLine call;
  if (parse_call(line, &call)) {
    if (has_another_mask(call)) return MaskCheck::kUnknown;
    if (call.number == SYS_rt_sigtimedwait && waits_for(call, signal)) return MaskCheck::kInSigwait;
  }
  return blocked ? MaskCheck::kBlocked : MaskCheck::kUnblocked;
}

MaskCheck check_mask(pid_t tid, const ThreadStatus& status, int signal) {
  char path[64], line[256];
  task_path(path, sizeof path, tid, "syscall");
  // Where the kernel does not tell: as if it were in no call.
  if (read_small_file(path, line, sizeof line) <= 0) line[0] = '\0';
  return classify_mask(line, (status.blocked & signal_bit(signal)) != 0, signal);
}

MaskCheck discount_handler(MaskCheck look, bool was_handled, bool runnable, bool got_on) {
  const bool still_there = runnable && !got_on;
  return look == MaskCheck::kBlocked && (was_handled || still_there) ? MaskCheck::kMaybeHandler
                                                                     : look;
}

}  // namespace gpuprof::sample
