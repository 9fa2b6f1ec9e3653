// SPDX-License-Identifier: Apache-2.0
//
// What is known of whether one thread blocks our signal, from the looks made at it.
//
// Context:  worker
// Owns:     nothing
// Promises: a thread whose waiting call our signal has cut short once is sent none again
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpuprof::sample {

enum class MaskLook {
  kOpen,
  kBlocked,
  kMayBeOurs,  // blocked, and perhaps only by our handler: on a busy machine a thread is preempted
               // there, with the handler's mask, more often than not, and for long
  kUnknown,    // in a call that has another mask for as long as it lasts
  kWaitsForOurs,  // in one that takes signals without a handler, ours too
};

class MaskMemory {
 public:
  /// @param has_run  Whether the thread has got to run since the last look.
  void see(MaskLook look, bool has_run) {
    last_ = look;
    const std::uint32_t opened = open_looks_;
    open_looks_ = 0;
    if (look == MaskLook::kWaitsForOurs) forbid();
    if (look == MaskLook::kUnknown) swaps_ = true;
    if (look == MaskLook::kMayBeOurs) blocked_looks_ = 0;
    const std::uint32_t enough = has_run || swaps_ ? kBlockedLooks : kIdleLooks;
    if (look == MaskLook::kBlocked && ++blocked_looks_ >= enough) masked_ = true;
    if (look != MaskLook::kOpen) return;
    blocked_looks_ = 0;
    if (!masked_ || forbidden_) return;
    open_looks_ = opened + 1;
    if (open_looks_ >= (swaps_ ? kOpenLooks : 1)) masked_ = false;
  }
  /// Our signal has reached the thread through the mask of a waiting call.
  void forbid() { masked_ = forbidden_ = true; }

  /// It is to have no trigger.
  bool masked() const { return masked_; }
  /// It may get one now.
  bool open() const { return !masked_ && last_ == MaskLook::kOpen; }
  /// The next look should come soon.
  bool changing() const {
    if (masked_) return open_looks_ != 0;
    return last_ == MaskLook::kBlocked || last_ == MaskLook::kMayBeOurs;
  }

 private:
  // libc blocks all signals for a moment when it makes a thread or a process: look twice. One that
  // did not get to run meanwhile, or waits for the process it makes to begin, is still there.
  static constexpr std::uint32_t kBlockedLooks = 2, kIdleLooks = 8;
  // One that unblocks signals only to wait may be met just behind such a call, before it has run
  // again: one look does not give the trigger back.
  static constexpr std::uint32_t kOpenLooks = 8;

  MaskLook last_ = MaskLook::kUnknown;
  std::uint32_t blocked_looks_ = 0, open_looks_ = 0;  // in a row
  bool swaps_ = false;                                // it was met in a call with another mask
  bool masked_ = false, forbidden_ = false;
};

}  // namespace gpuprof::sample
