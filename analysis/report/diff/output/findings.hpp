// SPDX-License-Identifier: Apache-2.0
//
// The findings of a comparison in words: the same in the terminal and in the page.
//
// Context:  cli
// Owns:     nothing
// Promises: one entry for each change that is significant or seen once, none for any other
// Not here: whether it is (significance.hpp), how it is laid out (diff_text.hpp,
//           diff_page/diff_page.hpp)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/diff/data/diff.hpp"

namespace gpuprof::report::diff {

/// One change that is significant, or seen once.
struct Finding {
  std::string subject;                // `operator`, `step time`, `GPU 0 memory, peak`
  std::string name;                   // of an operator, range, kernel or copy; empty for the rest
  std::string change;                 // `+10.7 %`, `new`, `gone`
  std::string message;                // before, after, change, what it is of the step
  std::vector<std::string> details;   // calls, inputs
  std::vector<std::string> evidence;  // why it is no noise
  bool is_increase = false;           // than before
};

/// What is significant: the step first, then memory, then names in their order.
///
/// @param pairs Of recordings (Diff::pairs).
std::vector<Finding> significant_findings(const ProcessDiff& process, std::size_t pairs);
/// In the same order what is only seen once, and what that means.
std::vector<Finding> unconfirmed_findings(const ProcessDiff& process, std::size_t pairs);
std::string unconfirmed_title(std::size_t pairs);
std::string unconfirmed_explanation(std::size_t pairs);

/// What is the same of all operators or kernels, and how small a change of one can be reported;
/// none where it is not known.
///
/// @param subject  `operators`, `kernels and copies`
std::vector<std::string> common_shift_messages(const CommonShift& common, std::string_view subject,
                                               const Limits& limits);
/// No change of such names could be claimed, however large.
bool is_undetectable(const CommonShift& common);

/// `runs/a: 59 steps, 1 warm-up step left out`.
std::string describe_recording(const StepProfile& profile, bool by_step);
/// `host memory`, `GPU 0 memory`.
std::string memory_name(std::int32_t device);
/// What the row's telling change is of: `self time`, `GPU time`.
std::string_view primary_quantity(const NameDiff& row);

}  // namespace gpuprof::report::diff
