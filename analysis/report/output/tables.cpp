// SPDX-License-Identifier: Apache-2.0
//
// The list of tables.
//
// Context:  cli
#include "analysis/report/output/tables.hpp"

#include <algorithm>
#include <array>

namespace gpuprof::report {
namespace {

constexpr std::array kKinds = {
    TableKind{"operator", "operators as PyTorch's key_averages() counts them", operator_table,
              "no operator was recorded"},
    TableKind{"kernel", "kernels by name, launch configuration and operator", kernel_table,
              "no kernel was recorded"},
    TableKind{"kernel-name", "kernels by name only", kernel_name_table, "no kernel was recorded"},
    TableKind{"memcpy", "copies between host and GPU", memcpy_table, "no copy was recorded"},
    TableKind{"memset", "memory sets on the GPU", memset_table, "no memory set was recorded"},
    TableKind{"api", "API calls of the CUDA runtime and driver", api_table,
              "no CUDA API call was recorded"},
    TableKind{"nvtx", "ranges of NVTX and record_function", nvtx_table, "no range was recorded"},
    TableKind{"nccl", "collectives", nccl_table, "no collective was recorded"},
    TableKind{"sync", "where the host waited for a GPU", sync_table,
              "the host never waited for a GPU"},
    TableKind{"thread", "threads", thread_table, "no activity of a thread was recorded"},
    TableKind{"module", "nn.Module calls", module_table, "no nn.Module call was recorded"},
    TableKind{"line", "lines of the program", line_table,
              "no line of the program is known: no Python stack was recorded; the flame graph of "
              "--html shows native functions"},
    TableKind{"site", "operators by the line they were called on", site_table,
              "no operator was recorded"},
    TableKind{"step", "steps of the program", step_table, "no step was recorded"},
    TableKind{"memory", "memory of PyTorch's allocators by operator and line", memory_table,
              "no allocation was recorded"},
    TableKind{"gpu", "GPUs", gpu_table, "nothing ran on a GPU"},
    TableKind{"wall", "all recorded time: before, in, between and after steps", wall_table,
              "nothing was recorded"},
    TableKind{"stretch", "what took long outside of steps or in single steps, by line",
              stretch_table, "nothing took long outside of steps or in single steps"},
};

}  // namespace

std::span<const TableKind> table_kinds() { return kKinds; }

const TableKind* find_table(std::string_view name) {
  const auto at =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) { return k.name == name; });
  return at == kKinds.end() ? nullptr : &*at;
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const TableKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

}  // namespace gpuprof::report
