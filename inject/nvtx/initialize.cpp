// SPDX-License-Identifier: Apache-2.0
//
// Fills the tables of one copy of the NVTX header.
//
// Context:  boundary (any thread, several at once); tick: worker
// Owns:     nothing
#include <atomic>

#include "gpuprof/base/clock.hpp"
#include "inject/got/patches.hpp"
#include "inject/hot/state.hpp"
#include "inject/nvtx/handle_tables.hpp"
#include "inject/nvtx/handlers.hpp"
#include "inject/nvtx/late_init.hpp"
#include "inject/nvtx/nvtx.hpp"

namespace gpuprof::nvtx {

namespace {

constinit std::atomic<bool> g_seen{false};

// Every copy of the header is served, whatever its version: a table shorter than ours takes what
// fits, one longer keeps its own answers for the rest.
bool fill(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module,
          TableEntries entries) {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks.GetModuleFunctionTable(module, &table, &size) != 1 || table == nullptr)
    return false;
  for (std::size_t i = 0; i < entries.count; ++i) {
    const TableEntry& entry = entries.first[i];
    // Another thread may be calling through the table already.
    if (entry.index < size && table[entry.index] != nullptr)
      __atomic_store_n(table[entry.index], entry.function, __ATOMIC_RELEASE);
  }
  return true;
}

}  // namespace

int initialize(void* get_export_table) {
  g_seen.store(true, std::memory_order_release);
  if (get_export_table == nullptr || !map_tables()) return 0;
  const auto get_table = reinterpret_cast<NvtxGetExportTableFunc_t>(get_export_table);
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks) ||
      callbacks->GetModuleFunctionTable == nullptr)
    return 0;
  const bool core = fill(*callbacks, NVTX_CB_MODULE_CORE, core_entries());
  const bool core2 = fill(*callbacks, NVTX_CB_MODULE_CORE2, core2_entries());
  return core || core2 ? 1 : 0;
}

bool is_in_use() { return g_seen.load(std::memory_order_acquire); }

void tick() {
  // Preloaded, NVTX looks for us itself.
  if (hot::on(hot::kOnNvtx | hot::kOnNvtxSteps) && !got::is_preloaded())
    fill_late_tables(base::mono_ns());
  send_names();
}

void release() {
  release_late_tables();
  reset_open_ranges();
  resend_names();
}

}  // namespace gpuprof::nvtx
