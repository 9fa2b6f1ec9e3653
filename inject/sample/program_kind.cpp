// SPDX-License-Identifier: Apache-2.0
//
// Looks at the modules and at what the program itself asks the loader for.
//
// Context:  worker | boundary
// Owns:     nothing
#include "inject/sample/program_kind.hpp"

#include <algorithm>

#include "gpuprof/base/red_zone_code.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/toolchain.hpp"
#include "inject/sample/signals/alt_stacks.hpp"

namespace gpuprof::sample {

bool detect_alt_stack_needs(const Snapshot& snapshot) {
  const SnapshotModule* const begin = snapshot.modules;
  const SnapshotModule* const end = begin + snapshot.module_count;
  const bool fragile = std::any_of(begin, end, [](const SnapshotModule& module) {
    return base::is_red_zone_file(module.info.dlpi_name);
  });
  return (fragile || has_go(&snapshot)) && enable_alt_stacks(fragile);
}

void detect_listed_alt_stack_needs() {
  modules::visit_listed_modules(
      [](dl_phdr_info* module, std::size_t, void*) {
        const char* path = module->dlpi_name;
        const bool fragile = path != nullptr && base::is_red_zone_file(path);
        if (fragile || modules::is_go_module(*module)) enable_alt_stacks(fragile);
        return 0;
      },
      nullptr);
}

bool has_go(const Snapshot* snapshot) {
  return snapshot != nullptr &&
         std::any_of(snapshot->modules, snapshot->modules + snapshot->module_count,
                     [](const SnapshotModule& module) { return module.is_go; });
}

// The loader's list begins with the program.
bool is_go(const Snapshot* snapshot) {
  return snapshot != nullptr && snapshot->module_count != 0 && snapshot->modules[0].is_go;
}

bool has_non_libc_threads(const Snapshot* snapshot) {
  return has_go(snapshot) && modules::program_has_no_needed();
}

}  // namespace gpuprof::sample
