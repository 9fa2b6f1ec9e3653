// SPDX-License-Identifier: Apache-2.0
//
// The Python stack of an operator: frames and modules, compared with those of the operator before.
//
// Context:  callback
// Owns:     the frames of the last operator of its thread
// Promises: frames outside of the first one that changed cost a comparison; bounded
// Not here: reading frames (python/quick.hpp)
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"
#include "inject/python/quick.hpp"

namespace gpuprof::torch {

/// Deepest stack that is followed.
inline constexpr std::uint32_t kMaxStackLevels = wire::kMaxPythonFrames;
inline constexpr std::uint32_t kNoModule = ~0u;

/// Part of a ThreadState: zeroed memory is a valid one.
class Stack {
 public:
  void clear() {
    count_ = 0;
    modules_.forget_all();
  }

  /// Reads the calling thread's frames.
  void take(std::uint32_t tid);

  /// Id of the stack as `detail` (wire::kTorchStack, kTorchModules) wants it, its definition sent
  /// if this lane has not seen it. 0: there are no frames.
  std::uint64_t define(const hot::Guard& guard, std::uint32_t detail, std::uint64_t ts_ns);

  /// What take() read, innermost first.
  const python::QuickFrame* frames() const { return raw_; }
  std::uint32_t frame_count() const { return count_; }
  /// Level (0 outermost) of the outermost module call; kNoModule: none.
  std::uint32_t module_level() const;

 private:
  /// One frame, as it was when it was first seen.
  struct Level {
    python::QuickFrame raw;
    std::uint64_t mark;     // python::code_mark
    python::Object module;  // zeros: not the call of a module
    std::uint64_t code_id;  // 0: not computed yet
    std::uint64_t hash[2];  // of this and all outer ones: frames, modules
  };

  bool unchanged(const Level& level, const python::QuickFrame& now) const;
  void renew(std::uint32_t level, const python::QuickFrame& now);
  bool send_parts(const hot::Guard& guard, std::uint32_t detail, std::uint64_t ts_ns);
  std::uint32_t write(std::uint32_t detail, wire::PyFrame* to, std::uint32_t room) const;

  std::uint32_t count_;
  hot::SentTable<512> modules_;
  python::QuickFrame raw_[kMaxStackLevels];  // innermost first
  Level levels_[kMaxStackLevels];            // outermost first
};

}  // namespace gpuprof::torch
