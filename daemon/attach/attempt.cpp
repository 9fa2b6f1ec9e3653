// SPDX-License-Identifier: Apache-2.0
//
// The search for a thread at a safe place, and what is done with it.
//
// Context:  the tracing thread
#include "daemon/attach/attempt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "daemon/attach/injection.hpp"
#include "daemon/attach/process/checks.hpp"
#include "daemon/attach/process/loader.hpp"
#include "daemon/attach/process/thread_candidates.hpp"
#include "daemon/attach/ptrace/step_out.hpp"
#include "daemon/messages/attach.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/io/files.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::uint64_t kStopNs = 200'000'000;
constexpr int kRounds = 3;  // over all threads, before one is stepped out
// In all: a thread in a library that was loaded a moment ago shows no way out of it.
constexpr int kMaxRounds = 12;
constexpr int kTurns = 64;  // of stepping out, of one thread
constexpr std::size_t kMaxThreads = 64;
constexpr std::uint64_t kTransferTimeoutNs = 1'000'000'000;  // for threads amid a transfer
constexpr auto kLookAgain = std::chrono::milliseconds(1);
constexpr auto kWhileLoading = std::chrono::milliseconds(10);

}  // namespace

InjectionAttempt::InjectionAttempt(const InjectRequest& request, const LibraryFile& library,
                                   const ProcessImage& target, std::uint64_t begun_ns)
    : request_(request),
      library_(library),
      target_(target),
      until_ns_(begun_ns + request.deadline_ns),
      copy_(target.pid, library),
      safe_point_(target),
      transfers_(target.pid) {
  done_.was_loaded = target.loaded_entry != 0;
  done_.program = target.program;
}

void InjectionAttempt::report_phase(Phase step) const {
  if (request_.at_phase) request_.at_phase(step);
  stop_if_requested(step);
}

support::Result<InjectResult> InjectionAttempt::run() {
  if (target_.loaded_entry == 0 && !copy_.can_be_in_memory()) {
    GPUPROF_TRY(path, copy_.in_a_file());
    path_ = path;
  }
  report_phase(Phase::kChecked);
  const std::uint64_t patient_until_ns = std::min(until_ns_, base::mono_ns() + kTransferTimeoutNs);
  bool found = search_rounds(true);
  while (!found && wait_for_transfer_end(patient_until_ns)) found = search_rounds(true);
  if (!found && wait_for_loader()) found = search_rounds(true);
  if (found || (!skipped_.empty() && search_rounds(false))) return *std::move(result_);
  if (done_.tries == 0 && failure_ != 0 && !has_unstopped_) return cannot_trace();
  return no_thread();
}

support::Error InjectionAttempt::no_thread() const {
  if (done_.tries != 0 && is_loader_busy(request_.pid)) return loader_busy_error(request_.pid);
  if (why_.empty() && base::mono_ns() >= until_ns_)
    return support::error(fmt::format(messages::attach::kNothingExamined, request_.pid,
                                      request_.deadline_ns / 1'000'000));
  if (why_.empty())
    return support::error(fmt::format(messages::attach::kNoStoppableThread, request_.pid));
  return support::error(fmt::format(messages::attach::kNoSafeThread, request_.pid, why_));
}

support::Error InjectionAttempt::cannot_trace() const {
  // Somebody else may have become its tracer since we looked.
  const auto still = may_attach(request_.pid, request_.ignore_seccomp, until_ns_);
  return still
             ? support::error(denial_message(request_.pid, inspect_denial(request_.pid, failure_)))
             : still.error();
}

/// `spare`: no thread amid a transfer. True: there is a result.
bool InjectionAttempt::search_rounds(bool spare) {
  skipped_.clear();
  for (int round = 0; round < kMaxRounds && base::mono_ns() < until_ns_; ++round) {
    if (round != 0) std::this_thread::sleep_for(std::chrono::milliseconds(round));
    if (search(round >= kRounds, spare)) return true;
  }
  return false;
}

/// False: none of those that were spared has come out of its transfer until then.
bool InjectionAttempt::wait_for_transfer_end(std::uint64_t until_ns) {
  for (; !skipped_.empty() && base::mono_ns() < until_ns; std::this_thread::sleep_for(kLookAgain)) {
    detach_stopped();
    std::size_t amid = 0;
    for (const ThreadCandidate& one : threads_by_stop_cost(request_.pid))
      if (skipped_.contains(one.tid) && transfers_.in_transfer(one)) ++amid;
    if (amid < skipped_.size()) return true;
  }
  return false;
}

/// False: the loader was not at work, or still is at the end of our time.
bool InjectionAttempt::wait_for_loader() {
  if (!is_loader_busy(request_.pid)) return false;
  for (; base::mono_ns() < until_ns_; std::this_thread::sleep_for(kWhileLoading)) {
    detach_stopped();
    if (!is_loader_busy(request_.pid)) return true;
  }
  return false;
}

/// Detaches the threads that did not stop when they were told to and have done so by now.
void InjectionAttempt::detach_stopped() {
  std::erase_if(seized_, [](Tracee& one) { return one.wait(0) != StopReason::kNone; });
}

/// True: there is a result.
bool InjectionAttempt::search(bool may_step_out, bool spare) {
  std::size_t looked_at = 0;
  for (const ThreadCandidate& candidate : threads_by_stop_cost(request_.pid)) {
    if (base::mono_ns() > until_ns_ || ++looked_at > kMaxThreads) break;
    if (spare && transfers_.in_transfer(candidate)) {
      skipped_.insert(candidate.tid);
      continue;
    }
    if (candidate.stack_pointer != 0) safe_point_.prepare(candidate.stack_pointer);
    if (try_thread(candidate.tid, may_step_out)) return true;
  }
  return false;
}

bool InjectionAttempt::try_thread(pid_t tid, bool may_step_out) {
  if (waits_for_child(tid)) {
    why_ = messages::attach::kInVfork;
    return false;
  }
  detach_stopped();
  Tracee& tracee = seized_.emplace_back();
  const int failure = tracee.seize(tid);
  if (failure != 0) failure_ = failure;
  const bool found = failure == 0 && try_seized(tracee, may_step_out);
  if (failure != 0 || tracee.is_stopped() || tracee.tid() == 0) seized_.pop_back();
  return found;
}

bool InjectionAttempt::try_seized(Tracee& tracee, bool may_step_out) {
  report_phase(Phase::kSeized);
  std::uint64_t paused_ns = base::mono_ns();
  if (!wait_until_stopped(tracee)) return false;
  if (!same_program() || dispatches_syscalls(tracee)) return true;
  report_phase(Phase::kStopped);
  ++done_.tries;
  Verdict verdict = judge(tracee);
  for (int turn = 0; !verdict.safe && may_step_out && turn < kTurns; ++turn) {
    const auto say = [this](Phase step) { report_phase(step); };
    if (verdict.exit_address == 0 || !step_out(tracee, verdict.exit_address, until_ns_, say)) break;
    done_.stepped_out = true;
    paused_ns = base::mono_ns();
    verdict = judge(tracee);
  }
  if (!verdict.safe) {
    why_ = verdict.why;
    return false;
  }
  done_.tid = tracee.tid();
  return inject(tracee, paused_ns);
}

/// Most children start their program at once: it is worth a moment.
bool InjectionAttempt::waits_for_child(pid_t tid) const {
  const std::uint64_t until_ns = std::min(until_ns_, base::mono_ns() + kStopNs);
  while (attach::waits_for_child(request_.pid, tid)) {
    if (base::mono_ns() > until_ns) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// One that waits for a disk is left alone soon, one that waits for a processor is not: until it
/// stands it cannot be released, and would then stand, perhaps with the loader's lock, while
/// another one loads the library.
bool InjectionAttempt::wait_until_stopped(Tracee& tracee) {
  const std::string stat = fmt::format("/proc/{}/task/{}/stat", request_.pid, tracee.tid());
  StopReason how = tracee.stop(base::mono_ns() + kStopNs);
  for (; how == StopReason::kNone; how = tracee.wait_for_trap(base::mono_ns() + kStopNs)) {
    const char state = support::parse_process_stat(support::read_small_file(stat)).state;
    // It may be us who had no processor when it stopped.
    if (state == 't' || (state != 'D' && base::mono_ns() < until_ns_)) continue;
    why_ = state == 'D' ? messages::attach::kWaitsForDisk : messages::attach::kGotNoProcessor;
    has_unstopped_ = true;
    return false;
  }
  if (how != StopReason::kTrap) why_ = messages::attach::kThreadEnded;
  return how == StopReason::kTrap;
}

/// Signals of ours run on every thread: one is enough.
bool InjectionAttempt::dispatches_syscalls(const Tracee& tracee) {
  if (!uses_syscall_user_dispatch(tracee.tid())) return false;
  result_ = support::error(
      fmt::format(messages::attach::kSyscallUserDispatch, tracee.tid(), request_.pid));
  return true;
}

/// While one of its threads stands still the process cannot start another program.
bool InjectionAttempt::same_program() {
  std::uint8_t byte = 0;
  if (target_.memory->read(target_.gadgets.call, byte)) return true;
  another_program_ = true;
  result_ = support::error(fmt::format(messages::attach::kStartedAnotherProgram, request_.pid));
  return false;
}

Verdict InjectionAttempt::judge(const Tracee& tracee) {
  arch::Registers registers;
  if (!arch::read_registers(tracee.tid(), registers))
    return {false, messages::attach::kThreadEnded, 0};
  return safe_point_.check(tracee.tid(), registers);
}

bool InjectionAttempt::inject(Tracee& tracee, std::uint64_t paused_ns) {
  Injection injection({request_, library_, target_, copy_, path_, until_ns_}, tracee);
  auto answer = injection.run();
  done_.pause_ns = base::mono_ns() - paused_ns;
  if (!answer && !injection.changed_thread()) {
    why_ = answer.error().message;
    return false;
  }
  if (!answer) {
    result_ = answer.error();
    return true;
  }
  done_.answer = answer.value();
  result_ = done_;
  return true;
}

}  // namespace gpuprof::attach
