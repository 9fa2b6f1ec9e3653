// SPDX-License-Identifier: Apache-2.0
//
// Makes one stopped thread load the library and call it, then restores the thread's state.
//
// Context:  the tracing thread
// Owns:     nothing after run(): the thread is the program's again, or ends alone
// Promises: between any two steps the thread, left alone, ends by itself where it was
//
// How: the first thing is a signal frame below what the thread uses of its stack. Each state the
// thread is given ends in rt_sigreturn on that frame, and registers are written in one piece. So a
// tracer that dies leaves a thread that finishes what it has begun, gives back the memory and goes
// on. The kernel's note of an interrupted sleep does not survive that; alive, we put registers back
// ourselves, and the kernel goes on with its sleep.
#pragma once

#include <array>
#include <functional>

#include "daemon/attach/arch/arch.hpp"
#include "daemon/attach/arch/stub_data.hpp"
#include "daemon/attach/inject.hpp"
#include "daemon/attach/library_copy.hpp"
#include "daemon/attach/process/library_file.hpp"
#include "daemon/attach/process/process_image.hpp"
#include "daemon/attach/ptrace/tracee.hpp"
#include "support/result.hpp"

namespace gpuprof::attach {

class Injection {
 public:
  struct Resources {
    const InjectRequest& request;
    const LibraryFile& library;
    const ProcessImage& target;
    LibraryCopy& copy;
    const std::string& path;  // of the copy, if it is a file already
    std::uint64_t until_ns;   // CLOCK_MONOTONIC
  };
  /// @param tracee Stopped at a safe place.
  Injection(const Resources& means, Tracee& tracee) : means_(means), tracee_(tracee) {}

  /// The answer of gpuprof_attach. The thread is detached in any case.
  support::Result<int> run();
  /// Whether the thread was made to do anything: false after a failure that another one may not
  /// have.
  bool changed_thread() const { return framed_; }

 private:
  support::Result<int> go();
  support::Result<void> prepare();
  support::Result<void> write_code();
  support::Result<void> provide_library();
  support::Result<void> wait_for_end();
  enum class Location { kStub, kHandler, kProgram };
  Location place();
  StopReason stop_in_wait(std::uint64_t until_ns);
  support::Result<int> read_answer();
  enum class Announce { kNothing, kMap, kUnmap };
  /// One system call of the thread; its answer.
  support::Result<std::uint64_t> call(long number, const std::array<std::uint64_t, 6>& arguments,
                                      Announce announce = Announce::kNothing);
  support::Result<void> run_to_call(long number);
  void restore();
  void passed(Phase step) const;
  support::Error process_gone_error(const char* doing) const;
  support::Error timeout_error(const char* doing) const;
  std::uint64_t block_address() const;

  const Resources means_;
  Tracee& tracee_;
  arch::Saved saved_;
  arch::Frame frame_;
  StubData block_;
  std::uint64_t kept_ = 0;     // faults that stay blocked, as the program has them
  std::uint64_t scratch_ = 0;  // 0: nothing is mapped
  bool framed_ = false;        // its registers were not the program's
};

}  // namespace gpuprof::attach
