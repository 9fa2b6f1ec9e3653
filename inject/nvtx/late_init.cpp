// SPDX-License-Identifier: Apache-2.0
//
// A search in the initialised data of each module, once, a piece at each turn.
//
// Context:  worker
#include "inject/nvtx/late_init.hpp"

#include <link.h>
#include <stdio.h>

#include <cstring>

#include "inject/hot/outbox.hpp"
#include "inject/messages/nvtx.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/nvtx/handle_tables.hpp"
#include "inject/nvtx/handlers.hpp"
#include "inject/nvtx/module_data.hpp"

namespace gpuprof::nvtx {

namespace {

constexpr std::uint32_t kMaxFound = 64;
constexpr std::uint64_t kLookNs = 100'000'000;

enum class TableOwner : std::uint8_t { kPending, kOurs, kOthers };
struct Found {
  NvtxGlobals* at;
  std::uintptr_t base;  // of its module
  TableOwner use;
};
constinit Found g_found[kMaxFound] = {};
constinit std::uint32_t g_found_count = 0;
constinit SeenModules g_seen{};
constinit std::uint64_t g_next_look_ns = 0;

void put(NvtxFunctionPointer* slots, TableEntries entries) {
  for (std::size_t i = 0; i < entries.count; ++i)
    __atomic_store_n(&slots[entries.first[i].index - 1], entries.first[i].function,
                     __ATOMIC_RELEASE);
}

void take_out(NvtxFunctionPointer* slots, TableEntries entries) {
  for (std::size_t i = 0; i < entries.count; ++i) {
    NvtxFunctionPointer expected = entries.first[i].function;
    __atomic_compare_exchange_n(&slots[entries.first[i].index - 1], &expected,
                                NvtxFunctionPointer{}, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }
}

void report_filled(const char* names) {
  char text[512];
  snprintf(text, sizeof text, messages::nvtx::kRecordedLate, names);
  hot::send_notice(wire::Feature::kNvtx, wire::NoticeLevel::kInfo, 0, text);
}

void report_skipped(const char* name, const char* why) {
  char text[512];
  snprintf(text, sizeof text, messages::nvtx::kNotRecorded, name, why);
  hot::send_notice(wire::Feature::kNvtx, wire::NoticeLevel::kMissing, 0, text);
}

/// Names of modules for one sentence.
struct Names {
  char text[256] = "";
  void add(const char* path) {
    const char* slash = path != nullptr ? std::strrchr(path, '/') : nullptr;
    const char* name = slash != nullptr ? slash + 1 : path;
    if (name == nullptr || *name == '\0') name = messages::nvtx::kProgram;
    const std::size_t used = std::strlen(text);
    if (used + 90 > sizeof text) return;
    snprintf(text + used, sizeof text - used, "%s%.80s", used == 0 ? "" : ", ", name);
  }
};

struct Filling {
  Names filled, others;
};

bool lies_in_data(const dl_phdr_info& module, const NvtxGlobals* at) {
  return modules::is_mapped_in(module, reinterpret_cast<std::uintptr_t>(at), sizeof *at,
                               PF_R | PF_W);
}

int fill_in_module(dl_phdr_info* info, std::size_t, void* data) {
  auto& filling = *static_cast<Filling*>(data);
  for (std::uint32_t i = 0; i < g_found_count; ++i) {
    Found& found = g_found[i];
    if (found.base != info->dlpi_addr || found.use != TableOwner::kPending) continue;
    // Still mapped, as its module is in the list; still what it was, unless that is another one.
    if (!lies_in_data(*info, found.at) || !valid_globals(*found.at)) continue;
    if (__atomic_load_n(&found.at->state, __ATOMIC_ACQUIRE) != kComplete) continue;
    found.use = has_no_tool(*found.at) ? TableOwner::kOurs : TableOwner::kOthers;
    if (found.use == TableOwner::kOurs) {
      put(found.at->core, core_entries());
      put(found.at->core2, core2_entries());
      filling.filled.add(info->dlpi_name);
    } else if (found.at->core[NVTX_CBID_CORE_RangePop - 1] !=
               core_entries().first[NVTX_CBID_CORE_RangePop - 1].function) {
      filling.others.add(info->dlpi_name);
    }
  }
  return 0;
}

int take_out_of_module(dl_phdr_info* info, std::size_t, void*) {
  for (std::uint32_t i = 0; i < g_found_count; ++i) {
    const Found& found = g_found[i];
    if (found.base != info->dlpi_addr || found.use != TableOwner::kOurs) continue;
    if (!lies_in_data(*info, found.at) || !valid_globals(*found.at)) continue;
    take_out(found.at->core, core_entries());
    take_out(found.at->core2, core2_entries());
  }
  return 0;
}

void keep(NvtxGlobals* at, std::uintptr_t base) {
  if (g_found_count < kMaxFound) g_found[g_found_count++] = {at, base, TableOwner::kPending};
}

void search(const ModuleData& module) {
  // Objects that the linker left out of use lead to the one in use.
  bool odd = false, known = false;
  for (std::uint32_t i = 0; i < module.parts; ++i)
    for (std::uintptr_t at = module.part[i].begin; at + sizeof(NvtxGlobals) <= module.part[i].end;
         at += alignof(NvtxGlobals)) {
      auto* globals = reinterpret_cast<NvtxGlobals*>(at);
      if (!looks_like_globals(globals)) continue;
      const bool valid = valid_globals(*globals);
      if (valid) keep(globals, module.base);
      (valid ? known : odd) = true;
    }
  if (!odd || known) return;
  Names name;
  name.add(module.path);
  report_skipped(name.text, messages::nvtx::kUnknownLayout);
}

bool anything_waits() {
  for (std::uint32_t i = 0; i < g_found_count; ++i)
    if (g_found[i].use == TableOwner::kPending) return true;
  return false;
}

}  // namespace

// Looks at all data of a module, whatever objects it consists of and whoever writes to them.
__attribute__((no_sanitize("address", "thread"))) bool looks_like_globals(const void* at) {
  const auto* globals = static_cast<const NvtxGlobals*>(at);
  return globals->callbacks.struct_size == sizeof(NvtxExportTableCallbacks) &&
         globals->version.struct_size == sizeof(NvtxExportTableVersionInfo) &&
         globals->state <= kComplete && globals->version.reserved0 == 0 &&
         globals->version.version != 0 && globals->version.version < 1000 &&
         globals->callbacks.GetModuleFunctionTable != nullptr;
}

namespace {
template <std::size_t N, std::size_t M>
bool leads_to(NvtxFunctionPointer* const (&table)[M], const NvtxFunctionPointer (&functions)[N]) {
  static_assert(M == N + 2);
  for (std::size_t i = 0; i < N; ++i)
    if (table[i + 1] != &functions[i]) return false;
  return table[0] == nullptr && table[N + 1] == nullptr;
}
template <std::size_t N>
bool all_empty(const NvtxFunctionPointer (&functions)[N]) {
  for (const NvtxFunctionPointer& function : functions)
    if (__atomic_load_n(&function, __ATOMIC_RELAXED) != nullptr) return false;
  return true;
}
}  // namespace

bool valid_globals(const NvtxGlobals& globals) {
  return looks_like_globals(&globals) && leads_to(globals.core_table, globals.core) &&
         leads_to(globals.cuda_table, globals.cuda) &&
         leads_to(globals.opencl_table, globals.opencl) &&
         leads_to(globals.cudart_table, globals.cudart) &&
         leads_to(globals.core2_table, globals.core2) && leads_to(globals.sync_table, globals.sync);
}

bool has_no_tool(const NvtxGlobals& globals) {
  return all_empty(globals.core) && all_empty(globals.core2);
}

void fill_late_tables(std::uint64_t now_ns) {
  if (now_ns < g_next_look_ns || !map_tables()) return;
  g_next_look_ns = now_ns + kLookNs;
  if (g_seen.some_unloaded()) g_found_count = 0;
  if (g_seen.visit_new(search)) g_next_look_ns = now_ns;
  if (!anything_waits()) return;
  Filling filling;
  if (modules::visit_loaded_modules(fill_in_module, &filling) == modules::VisitResult::kLoaderBusy)
    return;
  if (filling.filled.text[0] != '\0') report_filled(filling.filled.text);
  if (filling.others.text[0] != '\0')
    report_skipped(filling.others.text, messages::nvtx::kOtherTool);
}

void release_late_tables() {
  // What is taken out was put in when its module was loaded.
  modules::visit_listed_modules(take_out_of_module, nullptr);
  g_found_count = 0;
  g_seen = SeenModules{};
  g_next_look_ns = 0;
}

}  // namespace gpuprof::nvtx
