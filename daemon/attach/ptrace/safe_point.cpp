// SPDX-License-Identifier: Apache-2.0
//
// Whether a stopped thread may call dlopen where it stands.
//
// Context:  daemon | cli
#include "daemon/attach/ptrace/safe_point.hpp"

#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>

#include "daemon/attach/process/elf_image.hpp"
#include "daemon/messages/attach.hpp"
#include "gpuprof/base/red_zone_code.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::size_t kLookedAtBytes = 16 << 10;

// Exported functions that hold locks which dlopen, or a constructor of ours, would want.
constexpr const char* kAllocation[] = {
    "malloc",         "free",   "calloc",  "realloc",     "memalign",          "aligned_alloc",
    "posix_memalign", "valloc", "pvalloc", "malloc_trim", "malloc_usable_size"};
constexpr const char* kLocked[] = {"fork",
                                   "_Fork",
                                   "vfork",
                                   "exit",
                                   "quick_exit",
                                   "atexit",
                                   "on_exit",
                                   "__cxa_atexit",
                                   "__cxa_finalize",
                                   "pthread_create",
                                   "pthread_exit",
                                   "pthread_atfork",
                                   "__register_atfork",
                                   "dl_iterate_phdr",
                                   "posix_spawn",
                                   "posix_spawnp",
                                   "system",
                                   "popen",
                                   "abort",
                                   "setlocale",
                                   "dlopen",
                                   "dlclose",
                                   "dlsym",
                                   "dlerror",
                                   "dladdr",
                                   "setuid",
                                   "seteuid",
                                   "setreuid",
                                   "setresuid",
                                   "setgid",
                                   "setegid",
                                   "setregid",
                                   "setresgid",
                                   "setgroups"};

// Calls that the C library makes while it holds such a lock, where its own frames may be missing.
constexpr long kFromWithin[] = {
    SYS_brk,          SYS_mmap,          SYS_munmap,          SYS_mremap,
    SYS_madvise,      SYS_mprotect,      SYS_clone,           SYS_clone3,
    SYS_execve,       SYS_exit,          SYS_exit_group,      SYS_rt_sigprocmask,
#ifdef SYS_fork
    SYS_fork,         SYS_vfork,
#endif
    SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_set_robust_list, SYS_rseq,
    SYS_tgkill,       SYS_setuid,        SYS_setreuid,        SYS_setresuid,
    SYS_setgid,       SYS_setregid,      SYS_setresgid,       SYS_setgroups,
};

constexpr int kGetSequence = 0x420f;  // PTRACE_GET_RSEQ_CONFIGURATION
constexpr int kGetDispatch = 0x4211;  // PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
constexpr std::uint32_t kFutexOperation = 0x7f, kFutexWait = 0;
constexpr std::uint64_t kContended = 2;  // value of a lock of the C library that is waited for

bool one_of(long number) {
  return std::find(std::begin(kFromWithin), std::end(kFromWithin), number) != std::end(kFromWithin);
}

/// The wait of a lock, be it malloc's or the program's: not that of a condition or semaphore.
bool waits_for_lock(const arch::Registers& registers) {
  return registers.call == SYS_futex &&
         (arch::argument(registers, 1) & kFutexOperation) == kFutexWait &&
         arch::argument(registers, 2) == kContended;
}

}  // namespace

bool uses_syscall_user_dispatch(pid_t tid) {
  struct {
    std::uint64_t mode, selector, offset, bytes;
  } how{};
  return ptrace(static_cast<__ptrace_request>(kGetDispatch), tid,
                reinterpret_cast<void*>(sizeof how), &how) == 0 &&
         how.mode != 0;
}

SafePoint::SafePoint(const ProcessImage& target)
    : memory_(target.memory),
      maps_(target.maps),
      unwinder_(std::make_unique<Unwinder>(target.pid, target.maps, target.memory)) {
  for (const Mapping& mapping : maps_) {
    const std::string_view name = file_name(mapping);
    if (!mapping.executable) continue;
    fragile_ = fragile_ || base::is_red_zone_file(name);
    if (is_loader(name))
      ranges_.push_back({mapping.start, mapping.end, messages::attach::kInLoader});
    if (is_allocator(name))
      ranges_.push_back({mapping.start, mapping.end, messages::attach::kInAllocator});
    if (is_glibc(name))
      library_.push_back({mapping.start, mapping.end, messages::attach::kInCLibrary});
    if (mapping.path == "[vdso]")
      library_.push_back({mapping.start, mapping.end, messages::attach::kInVdso});
  }
  const std::uint64_t back = target.gadgets.restore;
  ranges_.push_back({back, back + 1, messages::attach::kInSignalHandler});
  add_functions(target);
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
  for (const Mapping& mapping : maps_)
    if (is_loader(file_name(mapping))) unwinder_->prepare(mapping.start);
}

void SafePoint::add_functions(const ProcessImage& target) {
  for (const Mapping& mapping : target.maps) {
    if (mapping.offset != 0 || mapping.inode == 0 || !mapping.readable) continue;
    const auto image = ElfImage::at(
        mapping.start,
        [&memory = *target.memory](std::uint64_t address, void* to, std::size_t bytes) {
          return memory.read(address, to, bytes);
        });
    if (!image || is_allocator(file_name(mapping))) continue;
    const bool libc = is_glibc(file_name(mapping));
    if (!libc && !image->function("malloc")) continue;
    const auto add = [&](const char* name, const char* what) {
      if (const auto found = image->function(name))
        ranges_.push_back({found->start, found->start + found->bytes, what});
    };
    for (const char* name : kAllocation) add(name, messages::attach::kInAllocator);
    if (libc)
      for (const char* name : kLocked) add(name, messages::attach::kInLockedFunction);
  }
}

const SafePoint::Range* SafePoint::forbidden_range(std::uint64_t address) const {
  const auto behind =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](std::uint64_t value, const Range& one) { return value < one.start; });
  if (behind == ranges_.begin()) return nullptr;
  const Range& range = *std::prev(behind);
  return address < range.end ? &range : nullptr;
}

bool SafePoint::in_c_library(std::uint64_t address) const {
  return std::any_of(library_.begin(), library_.end(), [address](const Range& range) {
    return address >= range.start && address < range.end;
  });
}

/// Any word that looks like a return address into what is in the way; may be a stale one.
const SafePoint::Range* SafePoint::found_on_stack(std::uint64_t stack_pointer) const {
  const std::vector<std::uint8_t> bytes = memory_->read_some(stack_pointer, kLookedAtBytes);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size();
       at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    memcpy(&word, bytes.data() + at, sizeof word);
    if (const Range* range = forbidden_range(word)) return range;
  }
  return nullptr;
}

bool SafePoint::in_rseq(pid_t tid, std::uint64_t pc) const {
  struct {
    std::uint64_t area;
    std::uint32_t bytes, signature, flags, pad;
  } where{};
  if (ptrace(static_cast<__ptrace_request>(kGetSequence), tid,
             reinterpret_cast<void*>(sizeof where), &where) < 0 ||
      where.area == 0)
    return false;
  std::uint64_t current = 0;
  if (!memory_->read(where.area + 8, current) || current == 0) return false;
  struct {
    std::uint32_t version, flags;
    std::uint64_t start, bytes, abort;
  } sequence{};
  return memory_->read(current, sequence) && pc >= sequence.start &&
         pc - sequence.start < sequence.bytes;
}

/// By registers alone; null: nothing is against it so far.
const char* SafePoint::refusal_by_registers(pid_t tid, const arch::Registers& registers) const {
  const std::uint64_t pc = arch::pc(registers);
  if (!arch::is_native(registers)) return messages::attach::kIn32BitCode;
  if (!arch::has_thread_block(registers, [this](std::uint64_t at, std::uint64_t& word) {
        return memory_->read(at, word);
      }))
    return messages::attach::kNoThreadBlock;
  if (const Range* range = forbidden_range(pc)) return range->what;
  const bool calling = registers.call >= 0;
  if (in_c_library(pc) && !calling) return messages::attach::kInCLibrary;
  if (calling && in_c_library(pc) && one_of(registers.call)) return messages::attach::kInLockedCall;
  if (calling && waits_for_lock(registers)) return messages::attach::kWaitsForLock;
  if (!calling && in_rseq(tid, pc)) return messages::attach::kInRseq;
  return nullptr;
}

void SafePoint::prepare(std::uint64_t stack_pointer) {
  const std::vector<std::uint8_t> bytes = memory_->read_some(stack_pointer, kLookedAtBytes / 4);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size();
       at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    memcpy(&word, bytes.data() + at, sizeof word);
    const Mapping* mapping = mapping_of(maps_, word);
    if (mapping != nullptr && mapping->executable && mapping->inode != 0) unwinder_->prepare(word);
  }
}

Verdict SafePoint::check(pid_t tid, const arch::Registers& registers) {
  Verdict verdict;
  const char* here = refusal_by_registers(tid, registers);
  if (here == nullptr && !fragile_ && found_on_stack(arch::sp(registers)) == nullptr) {
    verdict.safe = true;
    return verdict;
  }
  const Stack stack = unwinder_->walk(tid, registers);
  // The innermost functions that belong to the C library, and all up to the outermost bad one.
  std::size_t bad = here == nullptr ? 0 : 1;
  if (here != nullptr)
    while (bad < stack.addresses.size() && in_c_library(stack.addresses[bad])) ++bad;
  const Range* worst = nullptr;
  for (std::size_t i = 1; i < stack.addresses.size(); ++i) {
    const Range* range = forbidden_range(stack.addresses[i] - 1);
    if (range == nullptr) range = forbidden_range(stack.addresses[i]);
    if (range == nullptr) continue;
    worst = range;
    bad = i + 1;
  }
  while (bad != 0 && bad < stack.addresses.size() && in_c_library(stack.addresses[bad])) ++bad;
  verdict.safe = bad == 0 && stack.complete;
  if (verdict.safe) return verdict;
  verdict.why = worst != nullptr  ? worst->what
                : here != nullptr ? here
                                  : messages::attach::kStackUnreadable;
  if (bad != 0 && bad < stack.addresses.size()) verdict.exit_address = stack.addresses[bad];
  return verdict;
}

}  // namespace gpuprof::attach
