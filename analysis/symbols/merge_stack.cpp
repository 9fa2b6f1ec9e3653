// SPDX-License-Identifier: Apache-2.0
//
// Pairs evaluations of the native stack with runs of Python frames.
//
// Context:  daemon | cli
#include "analysis/symbols/merge_stack.hpp"

#include <algorithm>

namespace gpuprof::symbols {
namespace {

/// Python frames [begin, end) that one native evaluation runs.
struct Run {
  std::uint32_t begin, end;
};

/// Up to 3.10 every frame is an entry, so each is a run of its own; in 3.11 the entry frame ends a
/// run; from 3.12 on a shim follows it.
std::vector<Run> runs_of(std::span<const model::PythonFrame> python) {
  std::vector<Run> runs;
  std::uint32_t begin = 0;
  const auto count = static_cast<std::uint32_t>(python.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool shim = (python[i].flags & model::kPyShim) != 0;
    if (!shim && (python[i].flags & model::kPyEntry) == 0) continue;
    runs.push_back(Run{begin, shim ? i : i + 1});
    begin = i + 1;
  }
  if (begin < count) runs.push_back(Run{begin, count});
  return runs;
}

/// A stripped interpreter has no name for the cold part of its eval function; where evaluations
/// are missing, nameless frames of the interpreter take their place, innermost first.
std::vector<bool> evaluations(std::span<const NativeRole> native, std::size_t runs) {
  std::vector<bool> eval(native.size());
  std::size_t found = 0;
  for (std::size_t i = 0; i < native.size(); ++i) {
    eval[i] = native[i] == NativeRole::kEval;
    found += eval[i] ? 1 : 0;
  }
  for (std::size_t i = 0; i < native.size() && found != 0 && found < runs; ++i) {
    if (native[i] != NativeRole::kInterpreterUnnamed) continue;
    eval[i] = true;
    ++found;
  }
  return eval;
}

void append(const Run& run, MergedStack* to) {
  for (std::uint32_t i = run.begin; i < run.end; ++i) to->frames.push_back({true, i});
}

bool shown(NativeRole role, bool has_python) {
  if (role == NativeRole::kHidden) return false;
  return role == NativeRole::kVisible || !has_python;
}

}  // namespace

MergedStack merge_stack(std::span<const NativeRole> native,
                        std::span<const model::PythonFrame> python, std::uint32_t flags) {
  MergedStack merged;
  merged.partial = (flags & model::kStackPythonPartial) != 0;
  const std::vector<Run> runs = runs_of(python);
  const std::vector<bool> eval = evaluations(native, runs.size());
  const auto evals = static_cast<std::size_t>(std::count(eval.begin(), eval.end(), true));
  const bool cut = (flags & (model::kStackNativeTruncated | model::kStackNativeDeep |
                             model::kStackPythonDeep)) != 0;
  // One evaluation too many: its function is being entered or left and has no frame yet or any
  // more. That can only be the innermost.
  const bool in_prologue = evals == runs.size() + 1 && !merged.partial && !cut;
  if (!native.empty() && !cut && !in_prologue && evals != runs.size()) merged.partial = true;
  std::size_t seen = in_prologue ? 0 : 1;
  for (std::uint32_t i = 0; i < native.size(); ++i) {
    if (!eval[i]) {
      if (shown(native[i], !python.empty())) merged.frames.push_back({false, i});
      continue;
    }
    if (seen != 0 && seen - 1 < runs.size()) append(runs[seen - 1], &merged);
    if (python.empty()) merged.frames.push_back({false, i});
    ++seen;
  }
  for (std::size_t i = seen == 0 ? 0 : seen - 1; i < runs.size(); ++i) append(runs[i], &merged);
  return merged;
}

}  // namespace gpuprof::symbols
