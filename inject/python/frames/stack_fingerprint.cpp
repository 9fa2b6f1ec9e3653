// SPDX-License-Identifier: Apache-2.0
//
// See stack_fingerprint.hpp.
//
// Context:  callback
// Owns:     nothing
#include "inject/python/frames/stack_fingerprint.hpp"

#include "inject/python/frames/frame_compare.hpp"
#include "inject/python/frames/frames.hpp"

namespace gpuprof::python {

namespace {

constexpr std::uint32_t kMaxFrames = 256, kProofFrames = 16;

template <FrameLayout kForm>
bool fingerprint_frames(const Runtime& runtime, StackFingerprint* look) {
  const FrameComparer<kForm> looker(runtime);
  std::uint64_t frame = own_top_frame(runtime, look->state);
  for (look->count = 0; frame != 0; ++look->count)
    if (look->count == kMaxFrames || !looker.add(&frame, &look->hash)) return false;
  return true;
}

}  // namespace

bool fingerprint_stack(StackFingerprint* look) {
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);  // pairs with find_runtime
  *look = StackFingerprint{};
  if (runtime == nullptr) return true;
  if (runtime->this_state == nullptr) return false;
  look->state = reinterpret_cast<std::uint64_t>(runtime->this_state());
  if (look->state == 0) return true;
  if (!plausible(look->state) || validated_runtime() != runtime) return false;
  if (is_finalized_by_other(*runtime, look->state)) return false;
  switch (form_of(runtime->offsets)) {
    case FrameLayout::kNumber:
      return fingerprint_frames<FrameLayout::kNumber>(*runtime, look);
    case FrameLayout::kEntry:
      return fingerprint_frames<FrameLayout::kEntry>(*runtime, look);
    case FrameLayout::kOwner:
      return fingerprint_frames<FrameLayout::kOwner>(*runtime, look);
  }
  return false;
}

void validate_stack(std::uint32_t tid) {
  FastFrame frames[kProofFrames];
  if (validated_runtime() == nullptr) read_fast_frames(tid, frames, kProofFrames);
}

bool can_read_state(std::uint64_t state, std::uint32_t tid) {
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);  // pairs with find_runtime
  return (runtime == nullptr ? 0 : own_thread_state(*runtime, tid)) == state;
}

}  // namespace gpuprof::python
