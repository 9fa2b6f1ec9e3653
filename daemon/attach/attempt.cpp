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
#include "gpuprof/base/clock.hpp"
#include "support/io/files.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::uint64_t kStopNs = 200'000'000;
constexpr int kRounds = 3;  // over all threads, before one is stepped out
// In all: a thread in a library that was loaded a moment ago shows no way out of it.
constexpr int kMostRounds = 12;
constexpr int kTurns = 64;  // of stepping out, of one thread
constexpr std::size_t kMostThreads = 64;
constexpr std::uint64_t kPatienceNs = 1'000'000'000;  // for threads amid a transfer
constexpr auto kLookAgain = std::chrono::milliseconds(1);
constexpr auto kWhileLoading = std::chrono::milliseconds(10);

}  // namespace

Attempt::Attempt(const Request& request, const LibraryFile& library, const Target& target,
                 std::uint64_t begun_ns)
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

void Attempt::passed(Step step) const {
  if (request_.at_step) request_.at_step(step);
  stop_here_if_asked(step);
}

support::Result<Injected> Attempt::run() {
  if (target_.loaded_entry == 0 && !copy_.can_be_in_memory()) {
    GPUPROF_TRY(path, copy_.in_a_file());
    path_ = path;
  }
  passed(Step::kChecked);
  const std::uint64_t patient_until_ns = std::min(until_ns_, base::mono_ns() + kPatienceNs);
  bool found = rounds(true);
  while (!found && one_goes_on(patient_until_ns)) found = rounds(true);
  if (!found && loader_ends()) found = rounds(true);
  if (found || (!spared_.empty() && rounds(false))) return *std::move(result_);
  if (done_.tries == 0 && failure_ != 0 && !holds_one_) return cannot_trace();
  return no_thread();
}

support::Error Attempt::no_thread() const {
  if (done_.tries != 0 && loader_works(request_.pid)) return why_loader_works(request_.pid);
  if (why_.empty() && base::mono_ns() >= until_ns_)
    return support::error(
        fmt::format("{} ms were over before a thread of process {} was looked at: try again",
                    request_.deadline_ns / 1'000'000, request_.pid));
  return support::error(fmt::format(
      "no thread of process {} stood at a place where a library can be loaded (the last one: {}): "
      "try again later",
      request_.pid, why_.empty() ? "it has no thread that can be stopped" : why_));
}

support::Error Attempt::cannot_trace() const {
  // Somebody else may have become its tracer since we looked.
  const auto still = may_attach(request_.pid, request_.ignore_seccomp, until_ns_);
  return still ? support::error(why_denied(request_.pid, look_why_denied(request_.pid, failure_)))
               : still.error();
}

/// `spare`: no thread amid a transfer. True: there is a result.
bool Attempt::rounds(bool spare) {
  spared_.clear();
  for (int round = 0; round < kMostRounds && base::mono_ns() < until_ns_; ++round) {
    if (round != 0) std::this_thread::sleep_for(std::chrono::milliseconds(round));
    if (search(round >= kRounds, spare)) return true;
  }
  return false;
}

/// False: none of those that were spared has come out of its transfer until then.
bool Attempt::one_goes_on(std::uint64_t until_ns) {
  for (; !spared_.empty() && base::mono_ns() < until_ns; std::this_thread::sleep_for(kLookAgain)) {
    let_go_of_held();
    std::size_t amid = 0;
    for (const Candidate& one : threads_by_merit(request_.pid))
      if (spared_.contains(one.tid) && transfers_.amid(one)) ++amid;
    if (amid < spared_.size()) return true;
  }
  return false;
}

/// False: the loader was not at work, or still is at the end of our time.
bool Attempt::loader_ends() {
  if (!loader_works(request_.pid)) return false;
  for (; base::mono_ns() < until_ns_; std::this_thread::sleep_for(kWhileLoading)) {
    let_go_of_held();
    if (!loader_works(request_.pid)) return true;
  }
  return false;
}

/// Of those that did not stop when they were told to and have done so by now.
void Attempt::let_go_of_held() {
  std::erase_if(held_, [](Tracee& one) { return one.wait(0) != Stop::kNone; });
}

/// True: there is a result.
bool Attempt::search(bool may_step_out, bool spare) {
  std::size_t looked_at = 0;
  for (const Candidate& candidate : threads_by_merit(request_.pid)) {
    if (base::mono_ns() > until_ns_ || ++looked_at > kMostThreads) break;
    if (spare && transfers_.amid(candidate)) {
      spared_.insert(candidate.tid);
      continue;
    }
    if (candidate.stack_pointer != 0) safe_point_.prepare(candidate.stack_pointer);
    if (one_thread(candidate.tid, may_step_out)) return true;
  }
  return false;
}

bool Attempt::one_thread(pid_t tid, bool may_step_out) {
  if (waits_for_child(tid)) {
    why_ = "waiting for a child that it made by vfork to start its program or end";
    return false;
  }
  let_go_of_held();
  Tracee& tracee = held_.emplace_back();
  const int failure = tracee.seize(tid);
  if (failure != 0) failure_ = failure;
  const bool found = failure == 0 && one_seized(tracee, may_step_out);
  if (failure != 0 || tracee.stands() || tracee.tid() == 0) held_.pop_back();
  return found;
}

bool Attempt::one_seized(Tracee& tracee, bool may_step_out) {
  passed(Step::kSeized);
  std::uint64_t paused_ns = base::mono_ns();
  if (!stops(tracee)) return false;
  if (!same_program() || keeps_its_calls(tracee)) return true;
  passed(Step::kStopped);
  ++done_.tries;
  Verdict verdict = judge(tracee);
  for (int turn = 0; !verdict.safe && may_step_out && turn < kTurns; ++turn) {
    const auto say = [this](Step step) { passed(step); };
    if (verdict.way_out == 0 || !step_out(tracee, verdict.way_out, until_ns_, say)) break;
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
bool Attempt::waits_for_child(pid_t tid) const {
  const std::uint64_t until_ns = std::min(until_ns_, base::mono_ns() + kStopNs);
  while (attach::waits_for_child(request_.pid, tid)) {
    if (base::mono_ns() > until_ns) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// One that waits for a disk is left alone soon, one that waits for a processor is not: until it
/// stands it cannot be let go, and would then stand, perhaps with the loader's lock, while another
/// one loads the library.
bool Attempt::stops(Tracee& tracee) {
  const std::string stat = fmt::format("/proc/{}/task/{}/stat", request_.pid, tracee.tid());
  Stop how = tracee.stop(base::mono_ns() + kStopNs);
  for (; how == Stop::kNone; how = tracee.wait_for_trap(base::mono_ns() + kStopNs)) {
    const char state = support::parse_stat(support::read_small_file(stat)).state;
    // It may be us who had no processor when it stopped.
    if (state == 't' || (state != 'D' && base::mono_ns() < until_ns_)) continue;
    why_ = state == 'D' ? "it does not stop, as if it waited for a disk"
                        : "it has got no processor since it was told to stop";
    holds_one_ = true;
    return false;
  }
  if (how != Stop::kTrap) why_ = "it ended";
  return how == Stop::kTrap;
}

/// Signals of ours run on every thread: one is enough.
bool Attempt::keeps_its_calls(const Tracee& tracee) {
  if (!dispatches_calls(tracee.tid())) return false;
  result_ = support::error(fmt::format(
      "thread {} of process {} has its system calls sent back to it as signals (Syscall User "
      "Dispatch, as Wine uses it), and ours would be, too: `gpuprof run` records such a program up "
      "to the prctl that begins this",
      tracee.tid(), request_.pid));
  return true;
}

/// While one of its threads stands still the process cannot start another program.
bool Attempt::same_program() {
  std::uint8_t byte = 0;
  if (target_.memory->read(target_.gadgets.call, byte)) return true;
  another_program_ = true;
  result_ = support::error(fmt::format(
      "process {} started another program while we looked at it: try again", request_.pid));
  return false;
}

Verdict Attempt::judge(const Tracee& tracee) {
  arch::Registers registers;
  if (!arch::read_registers(tracee.tid(), registers)) return {false, "it ended", 0};
  return safe_point_.judge(tracee.tid(), registers);
}

bool Attempt::inject(Tracee& tracee, std::uint64_t paused_ns) {
  Injection injection({request_, library_, target_, copy_, path_, until_ns_}, tracee);
  auto answer = injection.run();
  done_.pause_ns = base::mono_ns() - paused_ns;
  if (!answer && !injection.touched()) {
    why_ = answer.error().sentence;
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
