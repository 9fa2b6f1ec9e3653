// SPDX-License-Identifier: Apache-2.0
//
// Whether one thread blocks the sampling signal, as far as is known from the checks of its mask.
//
// Context:  worker
// Promises: a thread whose waiting call the sampling signal has cut short once is sent none again
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpuprof::sample {

enum class MaskCheck {
  kUnblocked,
  kBlocked,
  kMaybeHandler,  // blocked, and perhaps only by our handler: on a busy machine a thread is
                  // preempted there, with the handler's mask, more often than not, and for long
  kUnknown,       // in a call that has another mask for as long as it lasts
  kInSigwait,     // in one that takes signals without a handler, ours too
};

class MaskHistory {
 public:
  /// @param has_run  Whether the thread has got to run since the last check.
  void add(MaskCheck look, bool has_run) {
    last_ = look;
    const std::uint32_t opened = open_looks_;
    open_looks_ = 0;
    if (look == MaskCheck::kInSigwait) forbid();
    if (look == MaskCheck::kUnknown) swaps_ = true;
    if (look == MaskCheck::kMaybeHandler) blocked_looks_ = 0;
    const std::uint32_t enough = has_run || swaps_ ? kBlockedLooks : kIdleLooks;
    if (look == MaskCheck::kBlocked && ++blocked_looks_ >= enough) masked_ = true;
    if (look != MaskCheck::kUnblocked) return;
    blocked_looks_ = 0;
    if (!masked_ || forbidden_) return;
    open_looks_ = opened + 1;
    if (open_looks_ >= (swaps_ ? kOpenLooks : 1)) masked_ = false;
  }
  /// The sampling signal has reached the thread through the mask of a waiting call.
  void forbid() { masked_ = forbidden_ = true; }

  /// It is to have no trigger.
  bool is_blocking() const { return masked_; }
  /// It may get one now.
  bool is_unblocked() const { return !masked_ && last_ == MaskCheck::kUnblocked; }
  /// The next check should come soon.
  bool needs_recheck() const {
    if (masked_) return open_looks_ != 0;
    return last_ == MaskCheck::kBlocked || last_ == MaskCheck::kMaybeHandler;
  }

 private:
  // libc blocks all signals for a moment when it creates a thread or a process: check twice. A
  // thread that did not get to run meanwhile, or waits for the process it creates to begin, is
  // still there.
  static constexpr std::uint32_t kBlockedLooks = 2, kIdleLooks = 8;
  // A thread that unblocks signals only to wait may be found just behind such a call, before it has
  // run again: one check does not give the trigger back.
  static constexpr std::uint32_t kOpenLooks = 8;

  MaskCheck last_ = MaskCheck::kUnknown;
  std::uint32_t blocked_looks_ = 0, open_looks_ = 0;  // in a row
  bool swaps_ = false;                                // it was found in a call with another mask
  bool masked_ = false, forbidden_ = false;
};

}  // namespace gpuprof::sample
