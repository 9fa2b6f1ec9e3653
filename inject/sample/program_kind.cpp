// SPDX-License-Identifier: Apache-2.0
//
// Looks at the modules and at what the program itself asks the loader for.
//
// Context:  worker
// Owns:     nothing
#include "inject/sample/program_kind.hpp"

#include <algorithm>

#include "inject/modules/program.hpp"

namespace gpuprof::sample {

bool has_go(const Snapshot* snapshot) {
  return snapshot != nullptr &&
         std::any_of(snapshot->modules, snapshot->modules + snapshot->module_count,
                     [](const SnapshotModule& module) { return module.is_go; });
}

// The loader's list begins with the program.
bool is_go(const Snapshot* snapshot) {
  return snapshot != nullptr && snapshot->module_count != 0 && snapshot->modules[0].is_go;
}

bool has_threads_of_its_own(const Snapshot* snapshot) {
  return has_go(snapshot) && modules::program_needs_no_library();
}

}  // namespace gpuprof::sample
