// SPDX-License-Identifier: Apache-2.0
//
// See buffer_forwarding.hpp.
//
// Context:  callback; registering: worker | boundary
// Owns:     nothing else
#include "inject/cupti/interpose/buffer_forwarding.hpp"

#include <atomic>

#include "inject/cupti/activity/buffer_callbacks.hpp"
#include "inject/cupti/activity/buffer_pool.hpp"

namespace gpuprof::cupti {

namespace {

constinit std::atomic<RegisterCallbacks> g_ours_in{nullptr};
// Never cleared: CUPTI may be about to call them.
constinit std::atomic<CUpti_BuffersCallbackRequestFunc> g_requested{nullptr};
constinit std::atomic<CUpti_BuffersCallbackCompleteFunc> g_completed{nullptr};
constinit std::atomic<RegisterCallbacks> g_by{nullptr};  // null: none that counts

void CUPTIAPI pass_request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  g_requested.load(std::memory_order_acquire)(buffer, bytes, max_records);
}

void CUPTIAPI pass_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                             std::size_t bytes, std::size_t valid_bytes) {
  if (g_buffers.owns_or_discard(buffer))
    return buffer_completed(context, stream, buffer, bytes, valid_bytes);
  g_completed.load(std::memory_order_acquire)(context, stream, buffer, bytes, valid_bytes);
}

}  // namespace

void set_own_copy(RegisterCallbacks copy) { g_ours_in.store(copy, std::memory_order_release); }

CUptiResult register_for_program(RegisterCallbacks copy, CUpti_BuffersCallbackRequestFunc requested,
                                 CUpti_BuffersCallbackCompleteFunc completed) {
  const RegisterCallbacks ours_in = g_ours_in.load(std::memory_order_acquire);
  const bool other_copy = ours_in != nullptr && ours_in != copy;
  if (requested == nullptr || completed == nullptr || other_copy) return copy(requested, completed);
  const auto requested_before = g_requested.exchange(requested, std::memory_order_acq_rel);
  const auto completed_before = g_completed.exchange(completed, std::memory_order_acq_rel);
  const CUptiResult result =
      ours_in == nullptr ? copy(requested, completed) : copy(pass_request, pass_completed);
  if (result == CUPTI_SUCCESS) {
    g_by.store(copy, std::memory_order_release);
  } else {
    g_requested.store(requested_before, std::memory_order_release);
    g_completed.store(completed_before, std::memory_order_release);
  }
  return result;
}

bool has_program_callbacks(RegisterCallbacks copy) {
  return copy != nullptr && g_by.load(std::memory_order_acquire) == copy;
}

bool restore_program_registration(RegisterCallbacks copy) {
  return has_program_callbacks(copy) &&
         register_for_program(copy, g_requested.load(std::memory_order_acquire),
                              g_completed.load(std::memory_order_acquire)) == CUPTI_SUCCESS;
}

void clear_program_callbacks() { g_by.store(nullptr, std::memory_order_release); }

}  // namespace gpuprof::cupti
