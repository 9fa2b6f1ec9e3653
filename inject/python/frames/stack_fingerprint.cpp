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

constexpr std::uint32_t kMostFrames = 256, kProofFrames = 16;

template <FrameForm kForm>
bool look_along(const Runtime& runtime, OwnLook* look) {
  const Looker<kForm> looker(runtime);
  std::uint64_t frame = own_top_frame(runtime, look->state);
  for (look->count = 0; frame != 0; ++look->count)
    if (look->count == kMostFrames || !looker.add(&frame, &look->hash)) return false;
  return true;
}

}  // namespace

bool look_at_own_frames(OwnLook* look) {
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);  // pairs with find_runtime
  *look = OwnLook{};
  if (runtime == nullptr) return true;
  if (runtime->this_state == nullptr) return false;
  look->state = reinterpret_cast<std::uint64_t>(runtime->this_state());
  if (look->state == 0) return true;
  if (!plausible(look->state) || proven_runtime() != runtime) return false;
  if (ends_elsewhere(*runtime, look->state)) return false;
  switch (form_of(runtime->at)) {
    case FrameForm::kNumber:
      return look_along<FrameForm::kNumber>(*runtime, look);
    case FrameForm::kEntry:
      return look_along<FrameForm::kEntry>(*runtime, look);
    case FrameForm::kOwner:
      return look_along<FrameForm::kOwner>(*runtime, look);
  }
  return false;
}

void prove_own_frames(std::uint32_t tid) {
  QuickFrame frames[kProofFrames];
  if (proven_runtime() == nullptr) quick_frames(tid, frames, kProofFrames);
}

bool reads_own_state(std::uint64_t state, std::uint32_t tid) {
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);  // pairs with find_runtime
  return (runtime == nullptr ? 0 : own_thread_state(*runtime, tid)) == state;
}

}  // namespace gpuprof::python
