// SPDX-License-Identifier: Apache-2.0
//
// Names that tell what is done.
//
// Context:  cli
#include "analysis/report/wall_time/host_activity.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuprof::report {
namespace {

using advice::StepThreadOpKind;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool is_import(const StackFrame& frame) {
  return frame.name == "_find_and_load" || has(frame.file, "importlib._bootstrap");
}

bool is_compiler(const StackFrame& frame) {
  // What stands around every optimizer and many a module, compiled or not.
  if (has(frame.file, "_dynamo/eval_frame.py") || has(frame.file, "_dynamo/external_utils.py") ||
      has(frame.file, "_dynamo/decorators.py"))
    return false;
  constexpr std::array<std::string_view, 5> kFolders = {"torch/_dynamo", "torch/_inductor",
                                                        "torch/_functorch", "triton/",
                                                        "torch/utils/cpp_extension"};
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return has(frame.file, folder); });
}

bool is_cuda_init(const StackFrame& frame) {
  return frame.name == "_lazy_init" && has(frame.file, "torch/cuda/__init__.py");
}

bool is_saving(const StackFrame& frame) {
  constexpr std::array<std::string_view, 9> kFiles = {"torch/serialization.py",
                                                      "torch/distributed/checkpoint/",
                                                      "safetensors/",
                                                      "/pickle.py",
                                                      "transformers/modeling_utils.py",
                                                      "transformers/trainer.py",
                                                      "numpy/lib/",
                                                      "pandas/io/",
                                                      "checkpoint"};
  if (!has(frame.name, "save") && !has(frame.name, "dump") && !frame.name.starts_with("to_"))
    return false;
  return std::any_of(kFiles.begin(), kFiles.end(),
                     [&](std::string_view file) { return has(frame.file, file); });
}

}  // namespace

bool is_evaluation(const std::string& function) {
  constexpr std::array<std::string_view, 9> kWords = {"eval",  "evaluate", "evaluation",
                                                      "valid", "validate", "validation",
                                                      "val",   "test",     "testing"};
  std::size_t from = 0;
  while (from <= function.size()) {
    const std::size_t end = std::min(function.find_first_of("_.<> ", from), function.size());
    const std::string word = function.substr(from, end - from);
    if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
    from = end + 1;
  }
  return false;
}

HostActivityKind classify_activity(const StackTable& places, const std::vector<FrameId>& frames) {
  bool loading = false, evaluation = false, compiling = false;
  for (const FrameId id : frames) {
    const StackFrame& frame = places.frames[id];
    if (frame.is_user_code) {
      evaluation = evaluation || is_evaluation(frame.name);
      continue;
    }
    if (is_import(frame)) return HostActivityKind::kImport;
    if (is_cuda_init(frame)) return HostActivityKind::kCudaInit;
    if (is_saving(frame)) return HostActivityKind::kSaving;
    compiling = compiling || is_compiler(frame);
    loading = loading || has(frame.file, "torch/utils/data/");
  }
  if (compiling) return HostActivityKind::kCompile;
  if (evaluation) return HostActivityKind::kEvaluation;
  return loading ? HostActivityKind::kLoading : HostActivityKind::kUserCode;
}

FrameId imported_module_frame(const StackTable& places, const std::vector<FrameId>& frames) {
  bool importing = false;
  for (auto id = frames.rbegin(); id != frames.rend(); ++id) {
    const StackFrame& frame = places.frames[*id];
    const bool machinery = is_import(frame) || has(frame.file, "importlib");
    importing = importing || machinery;
    if (importing && !machinery && !frame.is_user_code) return *id;
  }
  return 0;
}

std::string call_name(const StackFrame& frame, HostActivityKind doing) {
  constexpr std::string_view kInit = "/__init__.py";
  std::string path = frame.file;
  if (doing == HostActivityKind::kImport && path.ends_with(kInit))
    path.resize(path.size() - kInit.size());
  const std::size_t slash = path.rfind('/');
  std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  if (doing == HostActivityKind::kImport) return file.substr(0, file.rfind(".py"));
  return frame.is_user_code || file.empty() ? frame.name : frame.name + ", " + file;
}

HostActivityKind classify_activity(const advice::StepThreadOp& op) {
  return op.kind == StepThreadOpKind::kLoader ? HostActivityKind::kLoading
                                              : HostActivityKind::kOperators;
}

bool has_sequence_number(const advice::StepThreadOp& op) {
  return op.sequence >= 0 || op.kind == StepThreadOpKind::kEvaluate ||
         op.kind == StepThreadOpKind::kOptimizer;
}

}  // namespace gpuprof::report
