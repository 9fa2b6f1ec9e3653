// SPDX-License-Identifier: Apache-2.0
//
// Walks by our build of libunwind (cmake/libunwind), fed from the module snapshot.
//
// Context:  signal | callback
// Owns:     nothing
// Promises: libc's dl_iterate_phdr is never reached from here; libunwind's own cache stays off,
//           because its lock would be held while module memory is read, and a fault there could
//           then not be left
// Not here: unwind_prepare (unwind_libunwind_prepare.cpp)
#include "inject/sample/unwind/unwind.hpp"

#include <signal.h>

#include <cstring>

#include "gpuprof/wire/records.hpp"
#include "inject/hot/thread_block.hpp"
#include "inject/sample/fault_guard/fault_guard.hpp"
#include "inject/sample/jit/jit_code.hpp"
#include "inject/sample/modules/module_snapshot.hpp"
#include "inject/sample/unwind/frame_cache.hpp"
#include "inject/sample/unwind/heuristic_step.hpp"

// In our handler no system call is made: a filter of the program's may end it for one.
static bool in_our_handler() {
  using gpuprof::hot::RingRole;
  gpuprof::hot::ThreadSlot* slot = gpuprof::hot::t_local.slot;
  return slot != nullptr &&
         slot->inside_flag(RingRole::kSignal).load(std::memory_order_relaxed) != 0;
}

// All signals are blocked there. Elsewhere libunwind's mask for its locks, all but the two fault
// signals, is added to the thread's: who blocks these may have one waiting.
int gpuprof_sigprocmask(int how, const sigset_t* set, sigset_t* old) {
  if (in_our_handler()) return 0;
  const bool locks = old != nullptr;
  return pthread_sigmask(locks ? SIG_BLOCK : how, set, old);
}

// Any byte of a stack, also between variables: no business of a sanitizer's.
__attribute__((noinline, no_sanitize("address", "thread"))) static void read_byte(void* at) {
  static_cast<void>(*reinterpret_cast<const volatile unsigned char*>(at));
}

int gpuprof_can_read(std::uintptr_t address) {
  using gpuprof::sample::call_guarded;
  if (!in_our_handler() || !gpuprof::sample::is_guard_active()) return -1;
  return call_guarded(read_byte, reinterpret_cast<void*>(address)) ? 1 : 0;
}

int gpuprof_code_at(std::uintptr_t address) {
  using namespace gpuprof::sample;
  if (find_module(current_snapshot(), address) != nullptr) return GPUPROF_CODE_MODULE;
  if (is_jit_code(address)) return GPUPROF_CODE_GENERATED;
  request_jit_scan(address);
  return GPUPROF_CODE_UNKNOWN;
}

static bool lies_in_code(void*, std::uint64_t address) {
  using namespace gpuprof::sample;
  return is_module_code(current_snapshot(), address) || is_jit_code(address);
}

static bool lies_in_go(void*, std::uint64_t address) {
  using namespace gpuprof::sample;
  const SnapshotModule* module = find_module(current_snapshot(), address);
  return module != nullptr && module->is_go;
}

namespace {

struct Reading {
  gpuprof_read_word word;
  void* from;
};

bool read_word(void* from, std::uint64_t address, std::uint64_t* word) {
  const auto& reading = *static_cast<const Reading*>(from);
  return reading.word(reading.from, address, word) != 0;
}

}  // namespace

int gpuprof_step_without_tables(gpuprof_bare_frame* frame, gpuprof_read_word read, void* from) {
  using namespace gpuprof::sample;
  Reading reading{read, from};
  FrameRegisters at{frame->pc, frame->sp, frame->fp, frame->interrupted != 0};
  const StepResult step =
      step_without_tables(CodeAccess{read_word, lies_in_code, &reading, lies_in_go}, &at);
  *frame = gpuprof_bare_frame{at.pc, at.sp, at.fp, 0};
  switch (step) {
    case StepResult::kLost:
      return GPUPROF_STEP_LOST;
    case StepResult::kCertain:
      return GPUPROF_STEP_CERTAIN;
    case StepResult::kLikely:
      return GPUPROF_STEP_LIKELY;
    case StepResult::kMayHaveSkipped:
      return GPUPROF_STEP_GAPS;
  }
  return GPUPROF_STEP_LOST;
}

namespace gpuprof::sample {

constinit gpuprof_frame_cache g_frame_cache{nullptr, kFrameSlots, 1};

void unwind_invalidate() { __atomic_fetch_add(&g_frame_cache.generation, 1, __ATOMIC_RELAXED); }

std::uint64_t unwind_generation() {
  return __atomic_load_n(&g_frame_cache.generation, __ATOMIC_RELAXED);
}

static_assert(sizeof(FootprintWord) == sizeof(gpuprof_trail_word));

UnwindResult unwind(const Registers& start, bool interrupted, const StackCopy& copy,
                    std::uint64_t* frames, std::uint32_t room, StackFootprint* footprint) {
  gpuprof_trail left{};
  if (footprint != nullptr) {
    left.words = reinterpret_cast<gpuprof_trail_word*>(footprint->words);
    left.capacity = StackFootprint::kMaxWords;
  }
  gpuprof_walk_context context;
  std::memcpy(context.registers.uc_mcontext.gregs, start.general, sizeof start.general);
  context.copy_begin = copy.begin;
  context.copy_bytes = copy.bytes;
  context.copy = copy.data;
  context.trail = footprint != nullptr ? &left : nullptr;
  int count = 0;
  const int end = gpuprof_walk(&context, interrupted ? 1 : 0, &g_frame_cache,
                               reinterpret_cast<void**>(frames), static_cast<int>(room), &count);
  UnwindResult walk;
  walk.count = static_cast<std::uint32_t>(count);
  if (end == GPUPROF_WALK_LOST) walk.flags |= wire::kStackNativeTruncated;
  if (end == GPUPROF_WALK_FULL) walk.flags |= wire::kStackNativeDeep;
  if (footprint != nullptr) {
    footprint->count = static_cast<std::uint32_t>(left.count);
    footprint->whole =
        left.whole != 0 && end == GPUPROF_WALK_COMPLETE && left.count <= left.capacity;
    footprint->needs_fp = left.needs_fp != 0;
  }
  return walk;
}

}  // namespace gpuprof::sample
