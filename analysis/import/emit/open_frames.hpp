// SPDX-License-Identifier: Apache-2.0
//
// What is open on the threads of a process at an instant: frames of Python and operators.
//
// Context:  cli through analysis/commands
// Owns:     the open ones
// Promises: frames and operators nest each for themselves: a range may outlive the frame it began
//           in
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "analysis/import/store/parsed_event.hpp"

namespace gpuprof::importer {

/// Frames of Python and calls of modules that are open on a thread.
class OpenFrames {
 public:
  void push(const ParsedEvent& frame, InternedTables& names);
  /// The stack of what begins at `ns`, with a stack of its own or none.
  StackNode stack_at(std::int64_t ns, StackNode own, InternedTables& names);
  /// When the caller of a frame that begins began; the least number: none.
  std::int64_t caller_ns(const ParsedEvent& frame) {
    pop_ended(frame.start_ns);
    pop_to_caller(frame.frame);
    return open_.empty() ? std::numeric_limits<std::int64_t>::min() : open_.back().start_ns;
  }

  /// When the innermost one that is open is over; the largest number: none is open.
  std::int64_t innermost_end_ns() const {
    return open_.empty() ? std::numeric_limits<std::int64_t>::max() : open_.back().innermost_end_ns;
  }

 private:
  struct Open {
    std::int64_t start_ns, innermost_end_ns;  // over: its end, or the earliest of those around it
    StackNode node, around;                   // the way to it, and to what is around it
    StackNode modules;                        // the way through modules alone
    std::uint32_t text;                       // 0: a module
    std::uint32_t id;                         // of the file; 0: not told
  };
  static constexpr std::size_t kMaxOpen = 2000;

  /// A frame is over when it ends, or whoever called it: of some calls the return is never told.
  void pop_ended(std::int64_t ns) {
    while (!open_.empty() && open_.back().innermost_end_ns <= ns) open_.pop_back();
  }
  /// What is open beside the caller that the file names is over, whatever its end says.
  void pop_to_caller(const FrameFields& frame);

  std::vector<Open> open_;
};

/// `file(line): function` with another line: where a frame stood when it called the next.
std::uint32_t with_line(std::uint32_t text, std::uint32_t file, std::int32_t line,
                        InternedTables& names);

/// An operator or range whose end has not come.
struct OpenOperator {
  ParsedEvent record;
  model::RangeId id = 0, parent = 0;
  StackNode stack = 0;
  std::uint64_t order = 0;  // of its begin among all; 0: it has ended
  bool enclosed_by_user_only = true, has_flow = false;
};

}  // namespace gpuprof::importer
