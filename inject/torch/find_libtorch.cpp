// SPDX-License-Identifier: Apache-2.0
//
// Symbols first, then the module is held, then its functions are taken.
//
// Context:  worker
#include "inject/torch/find_libtorch.hpp"

#include <link.h>
#include <stdio.h>
#include <string.h>

#include "gpuprof/base/loader_counts.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/messages/torch.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/module_symbols.hpp"
#include "inject/modules/pinned_module.hpp"
#include "inject/torch/torch_version.hpp"

namespace gpuprof::torch {

constinit Library g_libraries[kMaxLibraries] = {};

namespace {

constexpr char kAddGlobal[] = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE";
// A program that contains libtorch itself may still be running its constructors, under no lock.
constexpr std::uint64_t kConstructorsNs = 100'000'000;

std::uint64_t s_seen_adds = 0;
std::uint32_t s_count = 0;

/// Modules that define the symbol.
struct Candidates {
  char paths[kMaxLibraries][sizeof Library::path];
  std::uint64_t adds[kMaxLibraries];  // address of the symbol
  std::uint32_t count;
};

int look_into(dl_phdr_info* info, std::size_t, void* data) {
  auto& found = *static_cast<Candidates*>(data);
  const std::uint64_t add = modules::ModuleSymbols(*info).find(kAddGlobal);
  if (add == 0 || found.count == kMaxLibraries) return 0;
  const char* name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  if (strlen(name) >= sizeof found.paths[0]) return 0;
  strcpy(found.paths[found.count], name);
  found.adds[found.count++] = add;
  return 0;
}

bool known(std::uint64_t add) {
  for (std::uint32_t i = 0; i < s_count; ++i)
    if (reinterpret_cast<std::uint64_t>(g_libraries[i].call.add_global) == add) return true;
  return false;
}

template <typename F>
void take(const modules::PinnedModule& library, const char* name, F* to) {
  *to = library.function<F>(name);
}

void take_functions(const modules::PinnedModule& library, Functions* to) {
  take(library, kAddGlobal, &to->add_global);
  take(library, "_ZN2at14removeCallbackEm", &to->remove);
  take(library, "_ZNK2at14RecordFunction4nameEv", &to->name);
  take(library, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE", &to->construct);
  take(library, "_ZN2at14RecordFunctionD1Ev", &to->destroy);
  take(library, "_ZN2at14RecordFunction6beforeEPKcl", &to->before_text);
  take(library,
       "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_traitsIcEE"
       "St17reference_wrapperIKN3c1014FunctionSchemaEEEEl",
       &to->before_variant);
  take(library, "_ZN2at14RecordFunction15currentThreadIdEv", &to->thread_id);
  take(library, "_ZNK3c106IValue12isTensorListEv", &to->is_tensor_list);
  take(library, "_ZN3c1010TensorType3getEv", &to->tensor_type);
  take(library, "_ZN3c1019UndefinedTensorImpl10_singletonE", &to->undefined_tensor);
}

void refuse(const char* version) {
  static bool s_reported = false;
  if (s_reported) return;
  s_reported = true;
  char text[200];
  snprintf(text, sizeof text, messages::torch::kNoOperators, version);
  hot::send_notice(wire::Feature::kTorch, wire::NoticeLevel::kMissing, 0, text);
}

bool add_library(const char* path) {
  // What was mapped at the start of the program has been initialised before this library was.
  const modules::PinnedModule held = modules::PinnedModule::pin(path);
  if (!held) return force_rescan(), false;
  Library& library = g_libraries[s_count];
  take_functions(held, &library.call);
  const Functions& call = library.call;
  read_torch_version(path, library.version, sizeof library.version);
  if (call.add_global == nullptr || call.remove == nullptr || call.name == nullptr) {
    refuse(library.version);
    library.call = Functions{};
    return false;
  }
  strcpy(library.path, path);
  ++s_count;
  return true;
}

}  // namespace

bool modules_changed() {
  const std::uint64_t adds = base::loader_counts().adds;
  if (adds == s_seen_adds) return false;
  s_seen_adds = adds;
  return true;
}

std::uint32_t find_libraries(std::uint64_t now_ns) {
  static const std::uint64_t s_first_ns = now_ns;
  Candidates found;
  found.count = 0;
  if (modules::visit_loaded_modules(look_into, &found) == modules::VisitResult::kLoaderBusy) {
    force_rescan();
    return s_count;
  }
  for (std::uint32_t i = 0; i < found.count && s_count < kMaxLibraries; ++i) {
    if (known(found.adds[i])) continue;
    if (found.paths[i][0] == '\0' && now_ns - s_first_ns < kConstructorsNs)
      force_rescan();
    else
      add_library(found.paths[i]);
  }
  return s_count;
}

void force_rescan() { s_seen_adds = 0; }

}  // namespace gpuprof::torch
