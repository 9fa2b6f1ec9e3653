// SPDX-License-Identifier: Apache-2.0
//
// Hashes of what a frame holds.
//
// Context:  callback
// Owns:     nothing
#include "inject/python/loops/loop_state.hpp"

#include <string.h>

#include <atomic>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/readable.hpp"
#include "inject/python/runtime/runtime.hpp"

namespace gpuprof::python {
namespace {

/// Local variables looked at.
constexpr std::uint64_t kMaxLocals = 32;
/// Values on a frame's stack.
constexpr std::uint64_t kMaxOperands = 64;
/// No frame has more room for local variables.
constexpr std::uint64_t kMaxFrameBytes = 1u << 20;
/// Of an iterator, behind its count of references and its type.
constexpr std::uint64_t kHeadBytes = 16, kMaxContentBytes = 64;
/// Of a type, the same on every 64-bit build.
constexpr std::uint64_t kTypeName = 24, kTypeBasicSize = 32, kTypeFlags = 168;
constexpr std::uint64_t kHeapType = 1 << 9;

/// Frames of a process that are read with care: a wrong layout must not end the program.
constexpr std::uint32_t kTrials = 32;

constinit std::atomic<std::uint32_t> g_read{0};

std::uint64_t word(std::uint64_t at) {
  return base::load<std::uint64_t>(reinterpret_cast<const void*>(at));
}

/// Hash of `count` words, of each the bits in `mask`. Only ever compared with the same frame's last
/// one: cheap matters more than well mixed, and no product waits for the one before it.
std::uint64_t hash_of(std::uint64_t at, std::uint64_t count, std::uint64_t mask = ~0ULL) {
  std::uint64_t hash = count, salt = 0xa0761d6478bd642fULL;
  for (; count >= 2; at += 16, count -= 2, salt += 0x9e3779b97f4a7c15ULL)
    hash += base::fold((word(at) & mask) ^ salt, (word(at + 8) & mask) + salt);
  return count == 0 ? hash : hash + base::fold((word(at) & mask) ^ salt, salt);
}

/// Compares no more than it must: most names begin with another letter.
bool begins_with(const char* name, const char* prefix, std::size_t bytes) {
  return *name == *prefix && strncmp(name, prefix, bytes) == 0;
}

class Reader {
 public:
  Reader(const Offsets& at, bool careful) : at_(at), careful_(careful) {}

  void read(const FastFrame& frame, std::uint32_t loops, LoopState* out) const {
    const std::uint64_t locals = frame.frame + at_.frame_locals;
    const std::uint64_t stack = stack_of(frame, locals);
    if (stack < locals || stack - locals > kMaxFrameBytes) return;
    std::uint64_t count = (stack - locals) / 8;
    if (count > kMaxLocals) count = kMaxLocals;
    if (!may_read(locals, 8 * (count + 1))) return;
    out->locals = hash_of(locals, count) + 1;
    if (count == 0)
      out->globals =
          at_.frame_top != kNone ? operands_of(frame.frame, stack) : globals_of(frame.frame);
    for (std::uint32_t i = 0; i < loops && i < kMaxIterators; ++i) {
      if (!may_read(stack + i * 8, 8)) return;
      out->iterators[i].address = word(stack + i * 8) & ~pointer_tag_mask(at_);
      out->iterators[i].content = content_of(out->iterators[i].address);
    }
  }

 private:
  /// A dictionary of 3.14 does not tell that it changed. What a call is given is of the frame
  /// itself.
  std::uint64_t operands_of(std::uint64_t frame, std::uint64_t stack) const {
    const std::uint64_t field = frame + at_.frame_top;
    const std::uint64_t top = may_read(field, 8) ? word(field) : 0;
    if (top <= stack || top - stack > 8 * kMaxOperands || !may_read(stack, top - stack)) return 0;
    return hash_of(stack, (top - stack) / 8, ~pointer_tag_mask(at_)) + 1;
  }
  std::uint64_t globals_of(std::uint64_t frame) const {
    if (at_.frame_globals == kNone || !may_read(frame + at_.frame_globals, 8)) return 0;
    const std::uint64_t dict = word(frame + at_.frame_globals);
    return may_read(dict + at_.dict_version, 8) ? word(dict + at_.dict_version) : 0;
  }
  bool may_read(std::uint64_t at, std::uint64_t bytes) const {
    return plausible(at) && (!careful_ || base::object_readable(at, bytes));
  }

  /// Where the value stack begins; 0: not known.
  std::uint64_t stack_of(const FastFrame& frame, std::uint64_t locals) const {
    if (at_.frame_stack != kNone) {
      const std::uint64_t field = frame.frame + at_.frame_stack;
      return may_read(field, 8) ? word(field) : 0;
    }
    if (!may_read(frame.code + at_.code_locals, 8)) return 0;
    const std::uint64_t names = word(frame.code + at_.code_locals);
    if (!may_read(names, at_.bytes_length + 8)) return 0;
    return locals + word(names + at_.bytes_length) * 8;
  }

  /// Python code may keep its state anywhere, and its objects change for other reasons; a generator
  /// or coroutine changes as it begins to run, too.
  bool implemented_in_c(std::uint64_t type) const {
    if ((word(type + kTypeFlags) & kHeapType) != 0) return false;
    const std::uint64_t name_at = word(type + kTypeName);
    if (name_at == 0 || (careful_ && !base::word_readable(name_at))) return false;
    const auto* name = reinterpret_cast<const char*>(name_at);
    return !begins_with(name, "generator", 9) && !begins_with(name, "coroutine", 9) &&
           !begins_with(name, "async_gen", 9);
  }

  std::uint64_t content_of(std::uint64_t object) const {
    if (!may_read(object, kHeadBytes)) return 0;
    const std::uint64_t type = word(object + 8);
    if (!may_read(type, kTypeFlags + 8) || !implemented_in_c(type)) return 0;
    std::uint64_t bytes = word(type + kTypeBasicSize);
    if (bytes > kMaxContentBytes) bytes = kMaxContentBytes;
    if (bytes < kHeadBytes || !may_read(object, bytes)) return 0;
    return hash_of(object + kHeadBytes, (bytes - kHeadBytes) / 8) + 1;
  }

  const Offsets& at_;
  const bool careful_;
};

}  // namespace

void read_loop_state(const FastFrame& frame, std::uint32_t loops, LoopState* out) {
  *out = LoopState{};
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);  // pairs with find_runtime
  if (runtime == nullptr || !plausible(frame.frame) || !plausible(frame.code)) return;
  const bool careful = g_read.load(std::memory_order_relaxed) < kTrials;
  if (careful) g_read.fetch_add(1, std::memory_order_relaxed);
  Reader(runtime->offsets, careful).read(frame, loops, out);
}

void reset_loop_state_validation() { g_read.store(0, std::memory_order_relaxed); }

}  // namespace gpuprof::python
