// SPDX-License-Identifier: Apache-2.0
//
// Hashes of what a frame holds.
//
// Context:  callback
// Owns:     nothing
#include "inject/python/frame_state.hpp"

#include <string.h>

#include <atomic>

#include "gpuprof/base/bytes.hpp"
#include "inject/python/runtime.hpp"

namespace gpuprof::python {
namespace {

/// Local variables looked at.
constexpr std::uint64_t kMaxLocals = 64;
/// Of an iterator, behind its count of references and its type.
constexpr std::uint64_t kHeadBytes = 16, kMaxContentBytes = 64;
/// Of a type, the same on every 64-bit build.
constexpr std::uint64_t kTypeName = 24, kTypeBasicSize = 32, kTypeFlags = 168;
constexpr std::uint64_t kHeapType = 1 << 9;
/// From here on the low bits of what a frame holds are marks.
constexpr std::uint32_t kTaggedFrom = 14;
constexpr std::uint64_t kTags = 3;

std::uint64_t word(std::uint64_t at) {
  return base::load<std::uint64_t>(reinterpret_cast<const void*>(at));
}

/// Python code may keep its state anywhere, and its objects change for other reasons; a generator
/// or coroutine changes as it begins to run, too.
bool implemented_in_c(std::uint64_t type) {
  if ((word(type + kTypeFlags) & kHeapType) != 0) return false;
  const auto* name = reinterpret_cast<const char*>(word(type + kTypeName));
  return name != nullptr && strncmp(name, "generator", 9) != 0 &&
         strncmp(name, "coroutine", 9) != 0 && strncmp(name, "async_gen", 9) != 0;
}

std::uint64_t content_of(std::uint64_t object) {
  if (!plausible(object)) return 0;
  const std::uint64_t type = word(object + 8);
  if (!plausible(type) || !implemented_in_c(type)) return 0;
  std::uint64_t bytes = word(type + kTypeBasicSize);
  if (bytes > kMaxContentBytes) bytes = kMaxContentBytes;
  std::uint64_t hash = 1;
  for (std::uint64_t at = kHeadBytes; at + 8 <= bytes; at += 8)
    hash = base::hash_step(hash, word(object + at));
  return hash;
}

}  // namespace

void frame_state(const QuickFrame& frame, std::uint32_t loops, FrameState* out) {
  *out = FrameState{};
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);  // pairs with find_runtime
  if (runtime == nullptr || !plausible(frame.frame) || !plausible(frame.code)) return;
  const Offsets& at = runtime->at;
  const std::uint64_t locals = frame.frame + at.frame_locals;
  std::uint64_t stack = 0;
  if (at.frame_stack != kNone) {
    stack = word(frame.frame + at.frame_stack);
  } else {
    const std::uint64_t names = word(frame.code + at.code_locals);
    if (!plausible(names)) return;
    stack = locals + word(names + at.bytes_length) * 8;
  }
  if (stack < locals || stack - locals > (1u << 20)) return;
  std::uint64_t count = (stack - locals) / 8;
  if (count > kMaxLocals) count = kMaxLocals;
  out->locals = 1;
  for (std::uint64_t i = 0; i < count; ++i)
    out->locals = base::hash_step(out->locals, word(locals + i * 8));
  for (std::uint32_t i = 0; i < loops && i < kMaxIterators; ++i) {
    const std::uint64_t value = word(stack + i * 8);
    out->iterators[i].address = at.minor >= kTaggedFrom ? value & ~kTags : value;
    out->iterators[i].content = content_of(out->iterators[i].address);
  }
}

}  // namespace gpuprof::python
