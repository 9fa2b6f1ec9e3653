// SPDX-License-Identifier: Apache-2.0
//
// Recognizes Python code that is not the program's own work: data loader and compiler workers, FX.
//
// Context:  daemon (ingest thread); pure
// Owns:     nothing
#pragma once

#include <string_view>
#include <utility>

namespace gpuprof::ingest {

/// Whether only a data loader's or a compiler's worker runs this function. It runs operators, too:
/// those of transforms and of what a spawned process repeats of its parent's script.
inline bool is_worker_entry_point(std::string_view file, std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kLoops[] = {
      {"/torch/utils/data/_utils/worker.py", "_worker_loop"},
      {"/torch/_inductor/compile_worker/__main__.py", "main"},
  };
  for (const auto& [end, function] : kLoops)
    if (name == function && file.ends_with(end)) return true;
  return false;
}

/// Whether PyTorch's compiler runs this: it tries operators, on tensors of its own, to know them. A
/// program may import it without compiling anything.
inline bool is_compiler_code(std::string_view file) {
  return file.find("/torch/_dynamo/") != std::string_view::npos;
}

/// Whether this runs a traced graph node by node: an iteration is a part of some model's call.
inline bool is_fx_interpreter_code(std::string_view file) {
  return file.ends_with("/torch/fx/interpreter.py");
}

/// Whether PyTorch names the main thread of such a process so.
inline bool is_worker_thread_name(std::string_view name) { return name == "pt_data_worker"; }

}  // namespace gpuprof::ingest
