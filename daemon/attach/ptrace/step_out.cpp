// SPDX-License-Identifier: Apache-2.0
//
// Lets a stopped thread run until it leaves the functions that are in the way, and stops it there.
//
// Context:  the tracing thread
#include "daemon/attach/ptrace/step_out.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/attach/arch/arch.hpp"
#include "daemon/attach/process/checks.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/base/unique_fd.hpp"
#include "support/io/files.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::uint64_t kStepOutNs = 200'000'000;
// For a thread that gets no processor.
constexpr std::uint64_t kTakeBackNs = 60'000'000'000;

/// Fires once, as `signal` of the thread itself.
base::UniqueFd perf_breakpoint(pid_t tid, std::uint64_t address, int signal) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.size = sizeof attr;
  attr.bp_type = HW_BREAKPOINT_X;
  attr.bp_addr = address;
  attr.bp_len = arch::kBreakpointBytes;
  attr.sample_period = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.disabled = 1;
  base::UniqueFd fd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  f_owner_ex owner{F_OWNER_TID, tid};
  if (!fd || fcntl(fd.get(), F_SETOWN_EX, &owner) != 0 || fcntl(fd.get(), F_SETSIG, signal) != 0 ||
      fcntl(fd.get(), F_SETFL, O_ASYNC) != 0 || ioctl(fd.get(), PERF_EVENT_IOC_REFRESH, 1) != 0)
    fd.reset();
  return fd;
}

/// The breakpoint, in whichever form; gone with this object.
class Breakpoint {
 public:
  Breakpoint(Tracee& tracee, std::uint64_t address) : tracee_(tracee) {
    const ProcStatus status = read_status(tracee.tid());
    signal_ = harmless_signal(status.blocked, status.caught);
    if (signal_ != 0) event_ = perf_breakpoint(tracee.tid(), address, signal_);
    if (event_) return;
    signal_ = SIGTRAP;
    // A blocked trap would be forced on the thread, at the price of its handler.
    const bool blocked = (status.blocked >> (SIGTRAP - 1) & 1) != 0;
    registers_ = !blocked && arch::set_breakpoint(tracee.tid(), address);
  }
  ~Breakpoint() { clear(); }
  Breakpoint(const Breakpoint&) = delete;
  Breakpoint& operator=(const Breakpoint&) = delete;

  bool set() const { return event_ || registers_; }
  int signal() const { return signal_; }
  /// It ends the process if it is met after us, and only a stopped thread gives it back.
  bool outlives_us() const { return registers_; }
  void clear() {
    event_.reset();
    if (registers_ && tracee_.is_stopped()) arch::set_breakpoint(tracee_.tid(), 0);
    registers_ = false;
  }

 private:
  Tracee& tracee_;
  base::UniqueFd event_;
  int signal_ = 0;
  bool registers_ = false;
};

/// The signal is taken from the thread, and it stands in a stop that is no signal's.
bool drop_signal(Tracee& tracee) {
  return tracee.interrupt() && tracee.resume(false, 0) &&
         tracee.wait(base::mono_ns() + kStepOutNs) == StopReason::kTrap;
}

}  // namespace

int harmless_signal(std::uint64_t blocked, std::uint64_t caught) {
  for (const int signal : {SIGURG, SIGWINCH})
    if (((blocked | caught) >> (signal - 1) & 1) == 0) return signal;
  return 0;
}

bool step_out(Tracee& tracee, std::uint64_t address, std::uint64_t until_ns,
              const std::function<void(Phase)>& passed) {
  Breakpoint breakpoint(tracee, address);
  if (!breakpoint.set() || !tracee.resume(false)) return false;
  passed(Phase::kBreakpoint);
  bool late = false;
  for (;;) {
    const std::uint64_t more_ns = breakpoint.outlives_us() ? kTakeBackNs : kStepOutNs;
    const StopReason how = tracee.wait(late ? base::mono_ns() + more_ns : until_ns);
    if (how == StopReason::kSignal && tracee.signal() == breakpoint.signal()) {
      breakpoint.clear();
      if (!drop_signal(tracee)) return false;
      passed(Phase::kSteppedOut);
      return true;
    }
    // The signal may come before the stop that is asked for here.
    if (how == StopReason::kNone && !late && tracee.interrupt()) {
      late = true;
      continue;
    }
    if (how == StopReason::kTrap && late) return false;
    if (how != StopReason::kSignal && how != StopReason::kTrap) return false;
    if (!tracee.resume(false, how == StopReason::kSignal ? tracee.signal() : 0)) return false;
  }
}

}  // namespace gpuprof::attach
