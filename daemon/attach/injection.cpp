// SPDX-License-Identifier: Apache-2.0
//
// Makes one stopped thread load the library and call it, then restores the thread's state.
//
// Context:  the tracing thread
#include "daemon/attach/injection.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "daemon/attach/process/checks.hpp"
#include "daemon/messages/attach.hpp"
#include "gpuprof/base/clock.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::uint64_t kPageBytes = 4096, kScratchBytes = 512 << 10;
// From low to high: one page of code, block and texts, the stack that grows towards them.
constexpr std::uint64_t kBlockAt = kPageBytes, kNameAt = kBlockAt + 512, kPathAt = kBlockAt + 1024;
constexpr std::uint64_t kArgumentAt = kBlockAt + kPageBytes;
// A killed tracer costs the program this much; a living one takes microseconds.
constexpr std::int64_t kWaitForUsMicroseconds = 50'000;
// What signal handlers may need below the frame, before their signals are blocked.
constexpr std::uint64_t kRoomBelow = 16 << 10;

// A look at its memory takes a lock that its loader takes as well, and whoever waits for that on a
// busy machine waits for his next time slice too.
constexpr std::uint64_t kTraceePollNs = 300'000;
constexpr std::uint64_t kTrapNs = 200'000'000;

constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }
// Faults stay: a blocked one would end the program although it has a handler. But for those that
// the program blocks (kept_): who is sent them takes them elsewhere.
constexpr std::uint64_t kBlocked = ~(bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGILL) |
                                     bit_of(SIGTRAP) | bit_of(SIGFPE) | bit_of(SIGSYS));
// glibc's own: a thread that calls setuid waits, with a lock that dlopen takes, until every other
// has answered it. Between two calls of ours it would keep the thread from ever making the second.
constexpr int kSetuidSignal = 33;
// One of ours would be its end with the program's mask as well.
constexpr std::uint64_t kOnlyIfSent =
    bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGILL) | bit_of(SIGFPE);
constexpr std::uint64_t kBlockedWhileLoading = kBlocked & ~bit_of(kSetuidSignal);

bool is_failure(std::uint64_t answer) { return answer > ~std::uint64_t{4095}; }

template <typename T>
std::span<const std::uint8_t> bytes_of(const T& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}

std::span<const std::uint8_t> with_nul(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.c_str()), text.size() + 1};
}

}  // namespace

void Injection::passed(Phase step) const {
  if (means_.request.at_phase) means_.request.at_phase(step);
  stop_if_requested(step);
}

support::Error Injection::process_gone_error(const char* doing) const {
  return support::error(
      fmt::format(messages::attach::kEndedMeanwhile, means_.target.pid, tracee_.tid(), doing));
}

support::Error Injection::timeout_error(const char* doing) const {
  return support::error(fmt::format(messages::attach::kTimedOut, means_.target.pid, doing,
                                    means_.request.deadline_ns / 1'000'000));
}

std::uint64_t Injection::block_address() const { return scratch_ + kBlockAt; }

support::Result<int> Injection::run() {
  auto answer = go();
  restore();
  return answer;
}

support::Result<int> Injection::go() {
  GPUPROF_CHECK(prepare());
  GPUPROF_CHECK(write_code());
  // Before anything that can lead to the loader, should we die now.
  if (block_.make_file == 0 && !arch::write_mask(tracee_.tid(), kBlockedWhileLoading | kept_))
    return process_gone_error(messages::attach::kBlockedSignals);
  if (!arch::set_start(tracee_.tid(), saved_, scratch_, scratch_ + kPageBytes + kScratchBytes,
                       block_address()))
    return process_gone_error(messages::attach::kStartedCode);
  passed(Phase::kStarted);
  if (block_.make_file != 0) {
    auto given = provide_library();
    // Our instructions close what they opened.
    if (!given && tracee_.is_stopped() && tracee_.resume(false) && wait_for_end())
      stop_in_wait(means_.until_ns);
    if (!given) return given.error();
  }
  if (!tracee_.resume(false)) return process_gone_error(messages::attach::kLoadedLibrary);
  passed(Phase::kLoading);
  GPUPROF_CHECK(wait_for_end());
  return read_answer();
}

/// Frame and scratch memory.
support::Result<void> Injection::prepare() {
  const pid_t tid = tracee_.tid();
  if (!arch::save(tid, saved_)) return process_gone_error(messages::attach::kReadRegisters);
  kept_ = saved_.mask & ~kBlocked & (kOnlyIfSent | read_status(tid).pending);
  frame_ = arch::frame_below(saved_, means_.target.gadgets);
  const Mapping* stack = mapping_of(means_.target.maps, arch::sp(saved_.registers));
  if (stack == nullptr || !stack->writable || frame_.address < stack->start + kRoomBelow)
    return support::error(messages::attach::kNoRoomForFrame);
  if (!means_.target.memory->write(frame_.address, frame_.bytes, tid))
    return process_gone_error(messages::attach::kWroteStack);
  passed(Phase::kFrameWritten);
  GPUPROF_TRY(scratch, call(SYS_mmap,
                            {0, kPageBytes + kScratchBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, ~0ULL, 0},
                            Announce::kMap));
  if (is_failure(scratch))
    return support::error(fmt::format(messages::attach::kCannotMapMemory, means_.target.pid,
                                      strerror(-static_cast<int>(scratch))));
  scratch_ = scratch;
  passed(Phase::kMapped);
  GPUPROF_TRY(code, call(SYS_mmap, {scratch_, kPageBytes, PROT_READ | PROT_EXEC,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~0ULL, 0}));
  if (is_failure(code))
    return support::error(fmt::format(messages::attach::kCannotMapCode, means_.target.pid,
                                      strerror(-static_cast<int>(code))));
  passed(Phase::kCodeMapped);
  return {};
}

support::Result<void> Injection::write_code() {
  const ProcessImage& target = means_.target;
  block_.scratch = scratch_;
  block_.scratch_bytes = kPageBytes + kScratchBytes;
  block_.frame = frame_.address;
  block_.call = target.gadgets.call;
  block_.restore = target.gadgets.restore;
  block_.wait_part = kWaitForUsMicroseconds * arch::kWaitPartsPerUs;
  block_.error_number = target.error_number;
  block_.argument = scratch_ + kArgumentAt;
  if (target.loaded_entry != 0) {
    block_.entry = target.loaded_entry;
  } else {
    block_.entry = means_.library.entry;
    block_.open_library = target.open_library;
    block_.last_error = target.last_error;
    block_.make_file = means_.path.empty() ? 1 : 0;
    block_.file_name = scratch_ + kNameAt;
    block_.path = scratch_ + kPathAt;
  }
  const pid_t tid = tracee_.tid();
  if (!target.memory->write(scratch_, arch::stub(), tid) ||
      !target.memory->write(block_address(), bytes_of(block_), tid) ||
      !target.memory->write(scratch_ + kNameAt, with_nul(kLibraryName), tid) ||
      !target.memory->write(scratch_ + kPathAt, with_nul(means_.path), tid) ||
      !target.memory->write(scratch_ + kArgumentAt, with_nul(means_.request.argument), tid))
    return process_gone_error(messages::attach::kWroteCode);
  passed(Phase::kCodeWritten);
  return {};
}

support::Result<void> Injection::run_to_call(long number) {
  for (int signal = 0;;) {
    if (!tracee_.resume(true, signal)) return process_gone_error(messages::attach::kMadeSystemCall);
    const StopReason how = tracee_.wait(means_.until_ns);
    if (how == StopReason::kNone) return timeout_error(messages::attach::kSystemCall);
    if (how == StopReason::kGone || how == StopReason::kFailure)
      return process_gone_error(messages::attach::kMadeSystemCall);
    arch::Registers registers;
    if (how == StopReason::kCall && arch::read_registers(tracee_.tid(), registers) &&
        registers.call == number)
      return {};
    // Only faults, glibc's own and the stop of the whole process come here: none is kept from it.
    signal = how == StopReason::kSignal ? tracee_.signal() : 0;
  }
}

support::Result<std::uint64_t> Injection::call(long number,
                                               const std::array<std::uint64_t, 6>& arguments,
                                               Announce announce) {
  const pid_t tid = tracee_.tid();
  if (!arch::set_call(tid, saved_, means_.target.gadgets, frame_, number, arguments))
    return process_gone_error(messages::attach::kWroteRegisters);
  framed_ = true;
  if (announce == Announce::kMap) passed(Phase::kMapCall);
  if (announce == Announce::kUnmap) passed(Phase::kUnmapCall);
  // After the registers: they are what puts the mask back.
  if (!arch::write_mask(tid, kBlocked | kept_))
    return process_gone_error(messages::attach::kBlockedSignals);
  if (announce == Announce::kMap) passed(Phase::kMasked);
  GPUPROF_CHECK(run_to_call(number));
  if (announce == Announce::kMap) passed(Phase::kMapEntered);
  GPUPROF_CHECK(run_to_call(number));
  arch::Registers registers;
  if (!arch::read_registers(tid, registers))
    return process_gone_error(messages::attach::kMadeSystemCall);
  return arch::result(registers);
}

support::Result<void> Injection::provide_library() {
  GPUPROF_CHECK(run_to_call(SYS_memfd_create));
  GPUPROF_CHECK(run_to_call(SYS_memfd_create));
  passed(Phase::kFileMade);
  arch::Registers registers;
  if (!arch::read_registers(tracee_.tid(), registers))
    return process_gone_error(messages::attach::kCreatedFile);
  const auto file = static_cast<std::int64_t>(arch::result(registers));
  GPUPROF_TRY(path, file >= 0 ? means_.copy.in_memory(file) : means_.copy.in_a_file());
  const std::uint64_t go = 1;
  if (!means_.target.memory->write(scratch_ + kPathAt, with_nul(path), tracee_.tid()) ||
      !arch::write_mask(tracee_.tid(), kBlockedWhileLoading | kept_) ||
      !means_.target.memory->write(block_address() + offsetof(StubData, proceed), bytes_of(go),
                                   tracee_.tid()))
    return process_gone_error(messages::attach::kWroteLibrary);
  passed(Phase::kFileWritten);
  return {};
}

/// Without stops: the block says when it is over.
support::Result<void> Injection::wait_for_end() {
  for (;;) {
    std::uint64_t state = kRunning;
    if (means_.target.memory->read(block_address(), state) && state == kEnded) break;
    const StopReason how = tracee_.wait(base::mono_ns() + kTraceePollNs);
    if (how == StopReason::kGone || how == StopReason::kFailure)
      return process_gone_error(messages::attach::kLoadedLibrary);
    if (how == StopReason::kNone) {
      if (base::mono_ns() > means_.until_ns) return timeout_error(messages::attach::kLoading);
      continue;
    }
    const int signal = how == StopReason::kSignal ? tracee_.signal() : 0;
    if (!tracee_.resume(false, signal)) return process_gone_error(messages::attach::kLoadedLibrary);
  }
  passed(Phase::kCalled);
  return {};
}

/// Of a stopped thread: it is in our instructions; or it has waited long enough for us and is the
/// program's again; or it is in a handler.
Injection::Location Injection::place() {
  arch::Registers registers;
  if (arch::read_registers(tracee_.tid(), registers) && arch::pc(registers) - scratch_ < kPageBytes)
    return Location::kStub;
  std::uint64_t state = kRunning;
  if (means_.target.memory->read(block_address(), state) && state == kEnded)
    return Location::kHandler;
  framed_ = false;
  return Location::kProgram;
}

/// Stops the thread in its wait for us. A handler has to end first: registers that replaced its own
/// would lose what it was called for.
StopReason Injection::stop_in_wait(std::uint64_t until_ns) {
  StopReason how = tracee_.stop(until_ns);
  int signal = 0;
  while (tracee_.is_stopped() && (how == StopReason::kSignal || place() == Location::kHandler)) {
    if (!tracee_.resume(true, signal)) return StopReason::kGone;
    how = tracee_.wait(until_ns);
    signal = how == StopReason::kSignal ? tracee_.signal() : 0;
  }
  return how == StopReason::kCall ? StopReason::kTrap : how;
}

support::Result<int> Injection::read_answer() {
  const bool read = means_.target.memory->read(block_address(), block_);
  const StopReason how = stop_in_wait(means_.until_ns);
  if (how == StopReason::kNone) return timeout_error(messages::attach::kWaiting);
  if (!read || how != StopReason::kTrap) return process_gone_error(messages::attach::kReadResult);
  passed(Phase::kHeld);
  if (block_.entered != 0) return static_cast<int>(block_.result);
  const std::string words =
      block_.error_text == 0 ? "" : means_.target.memory->read_text(block_.error_text, 1024);
  return support::error(
      fmt::format(messages::attach::kLoaderFailed, means_.target.pid,
                  words.empty() ? std::string(messages::attach::kLoaderGaveNoReason) : words));
}

/// The thread becomes the program's: memory first, then, where the kernel can restart its system
/// call, registers last. Every part may fail: the frame then does the same.
void Injection::restore() {
  if (!tracee_.is_stopped()) {
    // It has gone past the deadline: never interrupted in the middle, it ends alone.
    if (tracee_.tid() != 0 && tracee_.stop(base::mono_ns() + kTrapNs) == StopReason::kTrap)
      tracee_.detach();
    return;
  }
  if (framed_) {
    if (scratch_ != 0) {
      if (!call(SYS_munmap, {scratch_, kPageBytes + kScratchBytes, 0, 0, 0, 0}, Announce::kUnmap))
        return;
      passed(Phase::kUnmapped);
    }
    if (!tracee_.interrupt() || !tracee_.resume(false)) return;
    if (tracee_.wait(base::mono_ns() + kTrapNs) != StopReason::kTrap) return;
    passed(Phase::kAtRest);
    if (arch::write_vectors(tracee_.tid(), saved_)) {
      passed(Phase::kVectors);
      arch::write_mask(tracee_.tid(), saved_.mask);
      passed(Phase::kMask);
      arch::write_registers(tracee_.tid(), saved_);
      passed(Phase::kRegisters);
    }
  }
  tracee_.detach();
  passed(Phase::kDetached);
}

}  // namespace gpuprof::attach
