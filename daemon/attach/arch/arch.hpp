// SPDX-License-Identifier: Apache-2.0
//
// What differs between processors: registers, the frame that restores a thread, our instructions.
//
// Context:  daemon | cli; every call with a tid is made by the thread that traces it
// Owns:     nothing
// Promises: a write of registers never makes the kernel restart a system call by itself
// Not here: when what is done (injection.cpp)
//
// One file per processor implements it: arch_x86_64.cpp, arch_aarch64.cpp.
#pragma once

#include <elf.h>
#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gpuprof::attach::arch {

#if defined(__x86_64__)
inline constexpr std::uint16_t kElfMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr std::uint16_t kElfMachine = EM_AARCH64;
#else
#error "attach knows x86-64 and aarch64"
#endif

/// Parts of a microsecond in StubData::wait_part.
extern const std::int64_t kWaitPartsPerUs;
/// Length of a breakpoint of perf's.
extern const std::uint64_t kBreakpointBytes;

struct Registers {
  user_regs_struct user{};
  long call = -1;  // number of the system call the thread is in; -1: in none
};

/// All that makes up a stopped thread.
struct Saved {
  Registers registers;
  std::vector<std::uint8_t> vectors;  // NT_X86_XSTATE; NT_PRFPREG on aarch64
  std::uint64_t mask = 0;             // blocked signals, bit 0 is signal 1
};

/// False with errno of ptrace.
bool save(pid_t tid, Saved& saved);
bool read_registers(pid_t tid, Registers& registers);
bool write_vectors(pid_t tid, const Saved& saved);
bool write_mask(pid_t tid, std::uint64_t mask);
/// As they were, the number of the interrupted system call included: the kernel restarts it.
bool write_registers(pid_t tid, const Saved& saved);

std::uint64_t pc(const Registers& registers);
std::uint64_t sp(const Registers& registers);
/// What a system call or function returned.
std::uint64_t result(const Registers& registers);
/// Argument 0 to 2 of the system call the thread is in.
std::uint64_t argument(const Registers& registers, int which);
/// In the order of DWARF's numbers for this processor.
std::vector<std::uint64_t> dwarf_registers(const Registers& registers);
/// Whether the thread runs code of this class (not 32-bit code in a 64-bit process).
bool is_native(const Registers& registers);

/// Whether its thread pointer is one of the C library's: without that no function of it may be
/// called. `read` copies one word of its memory.
bool has_thread_block(const Registers& registers,
                      const std::function<bool(std::uint64_t, std::uint64_t&)>& read);

/// Two pieces of code the process has: our calls consist of them.
struct Gadgets {
  std::uint64_t call = 0;     // a system call, then a return
  std::uint64_t restore = 0;  // rt_sigreturn, as signal handlers return
};
/// Looks for the ones not found yet in code that lies at `address`.
void find_gadgets(std::span<const std::uint8_t> code, std::uint64_t address, Gadgets& gadgets);

/// A signal frame that, once returned into, makes the thread what it was: where it was in a system
/// call, that is called again from its start.
struct Frame {
  std::uint64_t address = 0;  // the stack pointer that `gadgets.call` is entered with
  std::vector<std::uint8_t> bytes;
};
/// Just below what the thread's code may use of its stack.
Frame frame_below(const Saved& saved, const Gadgets& gadgets);

/// The thread will make one system call and then become what `frame` says.
bool set_call(pid_t tid, const Saved& saved, const Gadgets& gadgets, const Frame& frame,
              long number, const std::array<std::uint64_t, 6>& arguments);
/// The thread will run our instructions at `code` with `block` (see stub_data.hpp).
bool set_start(pid_t tid, const Saved& saved, std::uint64_t code, std::uint64_t stack,
               std::uint64_t block);

/// Our instructions; they may lie anywhere.
std::span<const std::uint8_t> stub();

/// Stops a thread when it is about to execute `address`; 0 removes that. Debug registers: code is
/// not changed. False where there are none.
bool set_breakpoint(pid_t tid, std::uint64_t address);

}  // namespace gpuprof::attach::arch
