// SPDX-License-Identifier: Apache-2.0
//
// Classifies a stack or an operator by what it does: importing, saving, evaluating, …
//
// Context:  cli
// Owns:     nothing
// Promises: told by names of functions and files alone; what has none of them is the program's code
#pragma once

#include <string>
#include <vector>

#include "analysis/report/step_thread/step_thread.hpp"
#include "analysis/report/wall_time/wall_time.hpp"

namespace gpuprof::report {

/// @param frames Python's, innermost first.
HostActivityKind classify_activity(const StackTable& places, const std::vector<FrameId>& frames);
HostActivityKind classify_activity(const advice::StepThreadOp& op);
/// The frame of the outermost module that is being imported, but for those of the program itself;
/// 0: it runs no Python yet.
FrameId imported_module_frame(const StackTable& places, const std::vector<FrameId>& frames);
/// What a call is named: `evaluate`, `save, serialization.py`, of an import `torch`.
std::string call_name(const StackFrame& frame, HostActivityKind doing);
/// Autograd numbered it, or it is one of its nodes, or an optimizer.
bool has_sequence_number(const advice::StepThreadOp& op);
/// `evaluate`, `validation_epoch`, `run_test`: by a whole word.
bool is_evaluation(const std::string& function);

}  // namespace gpuprof::report
