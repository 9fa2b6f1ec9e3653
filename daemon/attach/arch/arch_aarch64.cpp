// SPDX-License-Identifier: Apache-2.0
//
// aarch64: registers, the frame that restores a thread, our instructions. Compiled, never run.
//
// Context:  daemon | cli
//
// Two things differ from x86-64. The kernel prepares the restart of an interrupted system call
// before a tracer sees the thread: what is saved stands before the call already, and a call that
// sleeps for a time begins its time again. And a thread that uses SVE outside of a system call is
// not saved.
#include <asm/ptrace.h>
#include <asm/sigcontext.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/attach/arch/arch.hpp"

extern "C" {
extern const std::uint8_t gpuprof_attach_stub[];
extern const std::uint8_t gpuprof_attach_stub_end[];
}

namespace gpuprof::attach::arch {

const std::int64_t kWaitPartsPerUs = 1000;  // struct timespec
const std::uint64_t kBreakpointBytes = 4;

namespace {

constexpr std::uint32_t kSvc = 0xd4000001, kRet = 0xd65f03c0, kMoveRestore = 0xd2801168;
constexpr unsigned kSystemCallSet = 0x404, kBreakpointSet = 0x402, kSveSet = 0x405;
constexpr int kKeepAlternateStack = 3;  // no such mode
constexpr std::uint64_t kBlockRegister = 19;

/// As the kernel lays it out; the stack pointer is at its start.
struct SignalFrame {
  std::uint8_t information[128];
  std::uint64_t flags, link;
  std::uint64_t stack;
  std::int32_t stack_flags, pad;
  std::uint64_t stack_bytes;
  std::uint64_t mask;
  std::uint8_t unused[120];
  alignas(16) sigcontext context;
};

bool get_set(pid_t tid, unsigned long kind, void* data, std::size_t& bytes) {
  iovec piece{data, bytes};
  if (ptrace(PTRACE_GETREGSET, tid, reinterpret_cast<void*>(kind), &piece) != 0) return false;
  bytes = piece.iov_len;
  return true;
}

bool put_set(pid_t tid, unsigned long kind, const void* data, std::size_t bytes) {
  iovec piece{const_cast<void*>(data), bytes};
  return ptrace(PTRACE_SETREGSET, tid, reinterpret_cast<void*>(kind), &piece) == 0;
}

/// In no system call, so that the kernel restarts none.
bool write_all(pid_t tid, const user_regs_struct& user) {
  const int none = -1;
  return put_set(tid, NT_PRSTATUS, &user, sizeof user) &&
         put_set(tid, kSystemCallSet, &none, sizeof none);
}

bool uses_sve(pid_t tid) {
  user_sve_header header{};
  std::size_t bytes = sizeof header;
  return get_set(tid, kSveSet, &header, bytes) &&
         (header.flags & SVE_PT_REGS_MASK) == SVE_PT_REGS_SVE;
}

bool is_system_call(pid_t tid, std::uint64_t address) {
  errno = 0;
  const long word = ptrace(PTRACE_PEEKTEXT, tid, reinterpret_cast<void*>(address), nullptr);
  return errno == 0 && static_cast<std::uint32_t>(word) == kSvc;
}

}  // namespace

bool save(pid_t tid, Saved& saved) {
  if (!read_registers(tid, saved.registers)) return false;
  if (uses_sve(tid)) {
    errno = ENOTSUP;
    return false;
  }
  std::size_t bytes = sizeof(user_fpsimd_state);
  saved.vectors.resize(bytes);
  return get_set(tid, NT_PRFPREG, saved.vectors.data(), bytes) &&
         ptrace(PTRACE_GETSIGMASK, tid, reinterpret_cast<void*>(sizeof saved.mask), &saved.mask) ==
             0;
}

bool read_registers(pid_t tid, Registers& registers) {
  std::size_t bytes = sizeof registers.user;
  if (!get_set(tid, NT_PRSTATUS, &registers.user, bytes)) return false;
  int call = -1;
  bytes = sizeof call;
  get_set(tid, kSystemCallSet, &call, bytes);
  // Before or behind the instruction: the kernel has forgotten the number by the time of a stop.
  if (call < 0 && (is_system_call(tid, registers.user.pc) ||
                   is_system_call(tid, registers.user.pc - sizeof kSvc)))
    call = static_cast<int>(registers.user.regs[8]);
  registers.call = call;
  return true;
}

bool write_vectors(pid_t tid, const Saved& saved) {
  return put_set(tid, NT_PRFPREG, saved.vectors.data(), saved.vectors.size());
}

bool write_mask(pid_t tid, std::uint64_t mask) {
  return ptrace(PTRACE_SETSIGMASK, tid, reinterpret_cast<void*>(sizeof mask), &mask) == 0;
}

bool write_registers(pid_t tid, const Saved& saved) { return write_all(tid, saved.registers.user); }

std::uint64_t pc(const Registers& registers) { return registers.user.pc; }
std::uint64_t sp(const Registers& registers) { return registers.user.sp; }
std::uint64_t result(const Registers& registers) { return registers.user.regs[0]; }
bool is_native(const Registers& registers) { return (registers.user.pstate & PSR_MODE32_BIT) == 0; }

// Nothing in the block says that it is one.
bool has_thread_block(const Registers&, const std::function<bool(std::uint64_t, std::uint64_t&)>&) {
  return true;
}

std::uint64_t argument(const Registers& registers, int which) { return registers.user.regs[which]; }

std::vector<std::uint64_t> dwarf_registers(const Registers& registers) {
  std::vector<std::uint64_t> words(std::begin(registers.user.regs), std::end(registers.user.regs));
  words.push_back(registers.user.sp);
  return words;
}

void find_gadgets(std::span<const std::uint8_t> code, std::uint64_t address, Gadgets& gadgets) {
  for (std::size_t at = 0; at + 8 <= code.size(); at += 4) {
    std::uint32_t pair[2];
    memcpy(pair, code.data() + at, sizeof pair);
    if (gadgets.call == 0 && pair[0] == kSvc && pair[1] == kRet) gadgets.call = address + at;
    if (gadgets.restore == 0 && pair[0] == kMoveRestore && pair[1] == kSvc)
      gadgets.restore = address + at;
  }
}

Frame frame_below(const Saved& saved, const Gadgets&) {
  SignalFrame layout{};
  layout.stack_flags = kKeepAlternateStack;
  layout.mask = saved.mask;
  const user_regs_struct& user = saved.registers.user;
  std::copy(std::begin(user.regs), std::end(user.regs), layout.context.regs);
  layout.context.sp = user.sp;
  layout.context.pc = user.pc;
  layout.context.pstate = user.pstate;
  user_fpsimd_state state;
  memcpy(&state, saved.vectors.data(), sizeof state);
  fpsimd_context vectors{};
  vectors.head = {FPSIMD_MAGIC, sizeof vectors};
  vectors.fpsr = state.fpsr;
  vectors.fpcr = state.fpcr;
  std::copy(std::begin(state.vregs), std::end(state.vregs), vectors.vregs);
  memcpy(layout.context.__reserved, &vectors, sizeof vectors);  // a null record follows
  Frame frame;
  frame.address = (user.sp - sizeof layout) & ~std::uint64_t{15};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&layout);
  frame.bytes.assign(bytes, bytes + sizeof layout);
  return frame;
}

bool set_call(pid_t tid, const Saved& saved, const Gadgets& gadgets, const Frame& frame,
              long number, const std::array<std::uint64_t, 6>& arguments) {
  user_regs_struct user = saved.registers.user;
  user.pc = gadgets.call;
  user.sp = frame.address;
  user.regs[30] = gadgets.restore;
  user.regs[8] = static_cast<std::uint64_t>(number);
  std::copy(arguments.begin(), arguments.end(), user.regs);
  return write_all(tid, user);
}

bool set_start(pid_t tid, const Saved& saved, std::uint64_t code, std::uint64_t stack,
               std::uint64_t block) {
  user_regs_struct user = saved.registers.user;
  user.pc = code;
  user.sp = stack;
  user.regs[29] = user.regs[30] = 0;
  user.regs[kBlockRegister] = block;
  return write_all(tid, user);
}

std::span<const std::uint8_t> stub() { return {gpuprof_attach_stub, gpuprof_attach_stub_end}; }

bool set_breakpoint(pid_t tid, std::uint64_t address) {
  // Enabled, for user code, four bytes.
  constexpr std::uint32_t kControl = 1 | 2 << 1 | 0xf << 5;
  user_hwdebug_state state{};
  state.dbg_regs[0].addr = address;
  state.dbg_regs[0].ctrl = address == 0 ? 0 : kControl;
  return put_set(tid, kBreakpointSet, &state,
                 offsetof(user_hwdebug_state, dbg_regs) + sizeof state.dbg_regs[0]);
}

}  // namespace gpuprof::attach::arch
