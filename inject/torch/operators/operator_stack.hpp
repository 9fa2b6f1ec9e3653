// SPDX-License-Identifier: Apache-2.0
//
// The Python stack of an operator: frames and modules, compared with those of the operator before.
//
// Context:  callback
// Owns:     the frames of the last operator of its thread
// Promises: frames outside the first one that changed cost a comparison; bounded
// Not here: reading frames (frames/fast_frames.hpp)
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"
#include "inject/python/frames/frame_compare.hpp"

namespace gpuprof::torch {

/// Deepest stack that is followed.
inline constexpr std::uint32_t kMaxStackLevels = wire::kMaxPythonFrames;
inline constexpr std::uint32_t kNoModule = ~0u;

/// Part of a ThreadOperators: zeroed memory is a valid one.
class OperatorStack {
 public:
  void clear() {
    count_ = 0;
    module_level_ = kNoModule;
    id_of_ = 0;
    modules_.clear_all();
  }

  /// Reads the calling thread's frames.
  ///
  /// @param around version() when an operator began that has not returned to Python since; 0: there
  ///               is none.
  void capture(std::uint32_t tid, std::uint32_t around);
  /// A new number whenever capture() found other frames; never 0 afterwards.
  std::uint32_t version() const { return version_; }

  /// Id of the stack as `detail` (wire::kTorchStack, kTorchModules) wants it, its definition sent
  /// if this ring buffer has not seen it. 0: there are no frames.
  std::uint64_t define(const hot::Guard& guard, std::uint32_t detail, std::uint64_t ts_ns);

  /// What capture() read, innermost first.
  const python::FastFrame* frames() const { return raw_ + (kMaxStackLevels - count_); }
  std::uint32_t frame_count() const { return count_; }
  /// Level (0 outermost) of the outermost module call; kNoModule: none.
  std::uint32_t module_level() const { return module_level_; }

 private:
  /// One frame, as it was when it was first seen: what is compared lies in one line of the cache.
  struct alignas(64) Level {
    python::FrameFingerprint look;
    python::Object module;  // zeros: not the call of a module
  };
  static constexpr std::uint32_t kCodes = 256;

  template <python::FrameLayout kForm>
  bool capture_fast(const python::Runtime& runtime, std::uint32_t around);
  void capture_checked(std::uint32_t tid);
  void update_level(const python::Runtime& runtime, std::uint32_t level,
                    const python::FastFrame& now, const python::FrameFingerprint& look);
  void invalidate_from(std::uint32_t level, std::uint32_t count);
  python::FastFrame& raw(std::uint32_t level) { return raw_[kMaxStackLevels - 1 - level]; }
  const python::FastFrame& raw(std::uint32_t level) const {
    return raw_[kMaxStackLevels - 1 - level];
  }
  std::uint64_t id_for(std::uint32_t detail) const;
  bool send_parts(const hot::Guard& guard, std::uint32_t detail, std::uint64_t ts_ns);
  void send(const hot::Guard& guard, std::uint32_t detail, std::uint64_t ts_ns);
  std::uint32_t write(std::uint32_t detail, wire::PyFrame* to, std::uint32_t room) const;

  std::uint32_t count_;
  std::uint32_t module_level_;
  std::uint32_t version_;
  std::uint64_t id_;                        // define()'s last result …
  std::uint32_t id_of_;                     // … for this detail; 0: the frames changed since
  std::uint64_t chain_[kMaxStackLevels];    // their addresses, innermost first
  Level levels_[kMaxStackLevels];           // outermost first
  std::uint64_t hash_[kMaxStackLevels][2];  // of a level and all outer ones: frames, modules
  python::FastFrame raw_[kMaxStackLevels];  // innermost first, the outermost at the very end
  python::CodeInfo codes_[kCodes];          // by address
  hot::SentTable<512> modules_;
};

}  // namespace gpuprof::torch
