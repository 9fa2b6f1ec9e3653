// SPDX-License-Identifier: Apache-2.0
//
// x86-64: registers, the frame that restores a thread, our instructions.
//
// Context:  daemon | cli
#include <cpuid.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/attach/arch/arch.hpp"

extern "C" {
extern const std::uint8_t gpuprof_attach_stub[];
extern const std::uint8_t gpuprof_attach_stub_end[];
}

namespace gpuprof::attach::arch {

const std::int64_t kWaitPartsPerUs = 1;  // struct timeval
const std::uint64_t kBreakpointBytes = sizeof(long);

namespace {

constexpr std::size_t kRedZone = 128, kMaxVectors = 64 << 10;
constexpr std::uint64_t kUserCode = 0x33;  // code segment of 64-bit programs
// The kernel's own answers of an interrupted system call, seen by tracers only.
constexpr std::int64_t kRestartSys = -512, kRestartNoHandler = -514, kRestartBlock = -516;

// Of the XSAVE area (standard form).
constexpr std::size_t kSoftware = 464, kHeader = 512, kLegacyBytes = 576;
constexpr std::uint32_t kMagic1 = 0x46505853, kMagic2 = 0x46505845;
constexpr std::uint64_t kLegacyFeatures = 3;  // x87, SSE
constexpr unsigned kProtectionKeys = 9;

// ucontext flags of the kernel.
constexpr std::uint64_t kHasXstate = 1, kHasSs = 2, kStrictSs = 4;
// No such mode: rt_sigreturn then leaves the alternate stack as it is.
constexpr int kKeepAlternateStack = 3;

// Behind the return address; the kernel reads this much.
constexpr std::size_t kContextBytes = 304, kInfoBytes = 128;
static_assert(offsetof(ucontext_t, uc_mcontext) == 40 && offsetof(ucontext_t, uc_sigmask) == 296);

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

bool write_all(pid_t tid, const user_regs_struct& user) {
  return put_set(tid, NT_PRSTATUS, &user, sizeof user);
}

template <typename T>
T word_at(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Place {
  std::size_t offset, bytes;
};
/// Where the standard form keeps a feature.
Place feature_place(unsigned feature) {
  unsigned bytes = 0, offset = 0, c = 0, d = 0;
  __get_cpuid_count(0xd, feature, &bytes, &offset, &c, &d);
  return {offset, bytes};
}

/// The area as a signal frame holds it: only features in use, so that it is no larger than what the
/// kernel accepts from this thread; the others are as unused after it as they were.
std::vector<std::uint8_t> vectors_for_frame(const Saved& saved) {
  std::vector<std::uint8_t> area = saved.vectors;
  std::uint64_t used = word_at<std::uint64_t>(area, kHeader);
  // The kernel keeps this one beside the area and may not have marked it.
  const Place keys = feature_place(kProtectionKeys);
  if (keys.bytes != 0 && word_at<std::uint32_t>(area, keys.offset) != 0)
    used |= std::uint64_t{1} << kProtectionKeys;
  std::size_t end = kLegacyBytes;
  for (unsigned feature = 2; feature < 63; ++feature) {
    if ((used >> feature & 1) == 0) continue;
    const Place place = feature_place(feature);
    end = std::max(end, place.offset + place.bytes);
  }
  area.resize(end);
  memcpy(area.data() + kHeader, &used, sizeof used);
  const struct {
    std::uint32_t magic, with_magic2;
    std::uint64_t features;
    std::uint32_t bytes;
  } software{kMagic1, static_cast<std::uint32_t>(end + sizeof kMagic2), used | kLegacyFeatures,
             static_cast<std::uint32_t>(end)};
  memset(area.data() + kSoftware, 0, kHeader - kSoftware);
  memcpy(area.data() + kSoftware, &software, sizeof software);
  const auto* magic2 = reinterpret_cast<const std::uint8_t*>(&kMagic2);
  area.insert(area.end(), magic2, magic2 + sizeof kMagic2);
  return area;
}

/// Registers of the moment in which the interrupted system call has not begun. The kernel's note of
/// how to go on is lost to rt_sigreturn, so calls that wait for a time begin their time again.
user_regs_struct restarted(user_regs_struct registers) {
  const auto answer = static_cast<std::int64_t>(registers.rax);
  if (static_cast<std::int64_t>(registers.orig_rax) < 0) return registers;
  if (answer != kRestartBlock && (answer > kRestartSys || answer < kRestartNoHandler))
    return registers;
  registers.rax = registers.orig_rax;
  registers.rip -= 2;
  return registers;
}

ucontext_t context_of(const Saved& saved, std::uint64_t vectors) {
  const user_regs_struct r = restarted(saved.registers.user);
  ucontext_t context{};
  context.uc_flags = kHasXstate | kHasSs | kStrictSs;
  context.uc_stack.ss_flags = kKeepAlternateStack;
  const auto set = [&context](int which, std::uint64_t value) {
    context.uc_mcontext.gregs[which] = static_cast<greg_t>(value);
  };
  set(REG_R8, r.r8), set(REG_R9, r.r9), set(REG_R10, r.r10), set(REG_R11, r.r11);
  set(REG_R12, r.r12), set(REG_R13, r.r13), set(REG_R14, r.r14), set(REG_R15, r.r15);
  set(REG_RDI, r.rdi), set(REG_RSI, r.rsi), set(REG_RBP, r.rbp), set(REG_RBX, r.rbx);
  set(REG_RDX, r.rdx), set(REG_RAX, r.rax), set(REG_RCX, r.rcx), set(REG_RSP, r.rsp);
  set(REG_RIP, r.rip), set(REG_EFL, r.eflags);
  set(REG_CSGSFS, r.cs | r.gs << 16 | r.fs << 32 | r.ss << 48);
  context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(vectors);
  memcpy(&context.uc_sigmask, &saved.mask, sizeof saved.mask);
  return context;
}

/// Ours for calls: no flag that changes what functions do, no restart by the kernel.
user_regs_struct plain(const Saved& saved) {
  user_regs_struct registers = saved.registers.user;
  registers.orig_rax = ~0ULL;
  registers.eflags = 0x202;
  return registers;
}

}  // namespace

bool save(pid_t tid, Saved& saved) {
  if (!read_registers(tid, saved.registers)) return false;
  std::size_t bytes = kMaxVectors;
  saved.vectors.resize(bytes);
  if (!get_set(tid, NT_X86_XSTATE, saved.vectors.data(), bytes)) return false;
  saved.vectors.resize(bytes);
  return ptrace(PTRACE_GETSIGMASK, tid, reinterpret_cast<void*>(sizeof saved.mask), &saved.mask) ==
         0;
}

bool read_registers(pid_t tid, Registers& registers) {
  std::size_t bytes = sizeof registers.user;
  if (!get_set(tid, NT_PRSTATUS, &registers.user, bytes) || bytes != sizeof registers.user)
    return false;
  registers.call = static_cast<long>(registers.user.orig_rax);
  return true;
}

bool write_vectors(pid_t tid, const Saved& saved) {
  return put_set(tid, NT_X86_XSTATE, saved.vectors.data(), saved.vectors.size());
}

bool write_mask(pid_t tid, std::uint64_t mask) {
  return ptrace(PTRACE_SETSIGMASK, tid, reinterpret_cast<void*>(sizeof mask), &mask) == 0;
}

bool write_registers(pid_t tid, const Saved& saved) { return write_all(tid, saved.registers.user); }

std::uint64_t pc(const Registers& registers) { return registers.user.rip; }
std::uint64_t sp(const Registers& registers) { return registers.user.rsp; }
std::uint64_t result(const Registers& registers) { return registers.user.rax; }
bool is_native(const Registers& registers) { return registers.user.cs == kUserCode; }

// The first word of the block is its own address, says the ABI.
bool has_thread_block(const Registers& registers,
                      const std::function<bool(std::uint64_t, std::uint64_t&)>& read) {
  const std::uint64_t block = registers.user.fs_base;
  std::uint64_t itself = 0;
  return block != 0 && read(block, itself) && itself == block;
}

std::uint64_t argument(const Registers& registers, int which) {
  const user_regs_struct& r = registers.user;
  return which == 0 ? r.rdi : which == 1 ? r.rsi : r.rdx;
}

std::vector<std::uint64_t> dwarf_registers(const Registers& registers) {
  const user_regs_struct& r = registers.user;
  return {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
          r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
}

void find_gadgets(std::span<const std::uint8_t> code, std::uint64_t address, Gadgets& gadgets) {
  static constexpr std::uint8_t kCall[] = {0x0f, 0x05, 0xc3};  // syscall; ret
  static constexpr std::uint8_t kRestore[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
  const auto find = [&](std::span<const std::uint8_t> wanted, std::uint64_t& found) {
    const auto at = std::search(code.begin(), code.end(), wanted.begin(), wanted.end());
    if (found == 0 && at != code.end())
      found = address + static_cast<std::uint64_t>(at - code.begin());
  };
  find(kCall, gadgets.call);
  find(kRestore, gadgets.restore);
}

// From low to high: return address, context, information of a signal (none), vectors.
Frame frame_below(const Saved& saved, const Gadgets& gadgets) {
  const std::vector<std::uint8_t> vectors = vectors_for_frame(saved);
  const std::uint64_t top = saved.registers.user.rsp - kRedZone;
  const std::uint64_t area = (top - vectors.size()) & ~std::uint64_t{63};
  Frame frame;
  frame.address = (area - sizeof(std::uint64_t) - kContextBytes - kInfoBytes) & ~std::uint64_t{15};
  frame.bytes.resize(area + vectors.size() - frame.address);
  const ucontext_t context = context_of(saved, area);
  memcpy(frame.bytes.data(), &gadgets.restore, sizeof gadgets.restore);
  memcpy(frame.bytes.data() + sizeof gadgets.restore, &context, kContextBytes);
  memcpy(frame.bytes.data() + (area - frame.address), vectors.data(), vectors.size());
  return frame;
}

bool set_call(pid_t tid, const Saved& saved, const Gadgets& gadgets, const Frame& frame,
              long number, const std::array<std::uint64_t, 6>& arguments) {
  user_regs_struct registers = plain(saved);
  registers.rip = gadgets.call;
  registers.rsp = frame.address;
  registers.rax = static_cast<std::uint64_t>(number);
  registers.rdi = arguments[0];
  registers.rsi = arguments[1];
  registers.rdx = arguments[2];
  registers.r10 = arguments[3];
  registers.r8 = arguments[4];
  registers.r9 = arguments[5];
  return write_all(tid, registers);
}

bool set_start(pid_t tid, const Saved& saved, std::uint64_t code, std::uint64_t stack,
               std::uint64_t block) {
  user_regs_struct registers = plain(saved);
  registers.rip = code;
  registers.rsp = stack;
  registers.rbp = 0;
  registers.rbx = block;
  return write_all(tid, registers);
}

std::span<const std::uint8_t> stub() { return {gpuprof_attach_stub, gpuprof_attach_stub_end}; }

bool set_breakpoint(pid_t tid, std::uint64_t address) {
  const auto poke = [tid](std::size_t which, std::uint64_t value) {
    const std::size_t offset = offsetof(user, u_debugreg) + which * sizeof(std::uint64_t);
    return ptrace(PTRACE_POKEUSER, tid, reinterpret_cast<void*>(offset),
                  reinterpret_cast<void*>(value)) == 0;
  };
  // Register 7: breakpoint 0 on for this thread, kind "execution", length 1.
  if (address == 0) return poke(7, 0) && poke(0, 0);
  return poke(0, address) && poke(7, 1);
}

}  // namespace gpuprof::attach::arch
