// SPDX-License-Identifier: Apache-2.0
//
// Looks at the modules and at what the program itself asks the loader for.
//
// Context:  worker
// Owns:     nothing
#include "inject/sample/program_kind.hpp"

#include <link.h>

#include <algorithm>

#include "inject/modules/visit.hpp"

namespace gpuprof::sample {
namespace {

// The loader's list begins with the program.
int needs_nothing(dl_phdr_info* info, std::size_t, void*) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_NEEDED) return 1;
  }
  return 2;
}

}  // namespace

bool has_go(const Snapshot* snapshot) {
  return snapshot != nullptr &&
         std::any_of(snapshot->modules, snapshot->modules + snapshot->module_count,
                     [](const SnapshotModule& module) { return module.is_go; });
}

bool has_threads_of_its_own(const Snapshot* snapshot) {
  return has_go(snapshot) && modules::visit_listed(needs_nothing, nullptr) == 2;
}

}  // namespace gpuprof::sample
